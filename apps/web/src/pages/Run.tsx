// One run, whole: where it is, what waits, what the agents say and do, what was made and what it cost.
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useMayDecide, useOfRun, useRun } from "../data";
import { api, type Run } from "../http";
import { Link } from "../router";
import { Artifacts } from "../ui/Artifacts";
import { Changes } from "../ui/Changes";
import { Controls } from "../ui/Controls";
import { Events } from "../ui/Events";
import { Family } from "../ui/Family";
import { HoldPanel } from "../ui/HoldPanel";
import { Notes } from "../ui/Notes";
import { Rail } from "../ui/Rail";
import { Sessions } from "../ui/Sessions";
import { Spend } from "../ui/Spend";
import { say } from "../ui/Toasts";
import { Badge, Loading, Marked, Status, Trouble, useNow, Words } from "../ui/bits";
import { ago, between, headline, holdTone, holdWords, isOver, projectName, shortId, usd } from "../words";

const tabs = [["session", "Session"], ["artifacts", "Artifacts"], ["changes", "Changes"], ["spend", "Spend"], ["events", "Events"]] as const;

export function RunPage({ id, tab = "" }: { id: string; tab?: string | undefined }) {
  const query = useRun(id);
  const run = query.data;
  if (!run) return <main className="page">{query.isError ? <Trouble error={query.error} retry={() => void query.refetch()} /> : <Loading lines={10} />}</main>;
  const here = tabs.some(([name]) => name === tab) ? tab : run.hold ? "" : "session";
  return (
    <main className="page run">
      <Head run={run} />
      <Rail run={run} />
      <Family run={run} />
      <Notes run={run} />
      {!run.hold && !isOver(run) && <Waits run={run} />}
      <nav className="tabs" aria-label="Of this run">
        {run.hold && <Link href={`/runs/${id}`} aria-current={here === "" ? "page" : undefined}>Decide <Badge tone={holdTone(run.hold.kind)}>{holdWords(run.hold)}</Badge></Link>}
        {tabs.map(([name, word]) => <Link key={name} href={`/runs/${id}/${name}`} aria-current={here === name ? "page" : undefined}>{word}</Link>)}
      </nav>
      {here === "" && run.hold && <section className="run-hold" aria-label="What waits"><h2 className="sr">What waits</h2><HoldPanel key={run.hold.id} hold={run.hold} onDone={() => undefined} inRun /></section>}
      {here === "session" && <Sessions run={run} />}
      {here === "artifacts" && <Artifacts run={run} />}
      {here === "changes" && <Changes run={run} />}
      {here === "spend" && <Spend run={run} />}
      {here === "events" && <Events run={run} />}
    </main>
  );
}

function Head({ run }: { run: Run }) {
  const now = useNow();
  return (
    <header className="run-head">
      <div>
        <p className="crumbs"><Link href="/runs">Runs</Link><span className="mono">{shortId(run.id)}</span><span>{projectName(run.project)}</span><span>{run.playbook}</span>{run.priority !== "normal" && <span>{run.priority} priority</span>}{run.tier && <span className={run.tier === "unsandboxed" ? "tone-bad" : undefined}>{run.tier}</span>}</p>
        <h1><Marked text={headline(run.request)} /></h1>
        {run.request.trim().includes("\n") && <details className="as-list"><summary>The whole request</summary><p className="said"><Marked text={run.request} /></p></details>}
        <p className="facts">
          <Status status={run.status} />
          {run.taskStatus && <span>task: {run.taskStatus}</span>}
          <span>{isOver(run) ? `took ${between(run.createdAt, run.completedAt, now)}` : `began ${ago(run.createdAt, now)}`}</span>
          <span>{usd(run.spend.usd)}{run.spend.limitUsd ? ` of ${usd(run.spend.limitUsd)}` : ""}{run.spend.estimateUsd ? ` (estimate ${usd(run.spend.estimateUsd)})` : ""}</span>
          <span className="branch" title={run.branch}>{run.branch}</span>
          {run.merged && <span>merged as {run.merged.slice(0, 7)} into {run.base}</span>}
          {run.pullRequest && <span>pull request {run.pullRequest}</span>}
        </p>
      </div>
      <Controls run={run} />
    </header>
  );
}

function Waits({ run }: { run: Run }) {
  const why = useOfRun(run.id, "why", () => api.why(run.id));
  const may = useMayDecide();
  const [text, setText] = useState("");
  const tell = useMutation({
    mutationFn: () => api.tell(run.id, text),
    onSuccess: () => {
      setText("");
      say("The agent reads it before its next turn.");
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) tell.mutate();
  };
  return (
    <section className="guide" aria-label="Now">
      {why.data && <p><strong>Now:</strong> <Words text={why.data.waitsFor} />{why.data.queue ? ` (${why.data.queue.ahead} ahead)` : ""}{why.data.unblockedBy.length > 0 && <span className="quiet"> · goes on with: <Words text={why.data.unblockedBy.join(", ")} /></span>}</p>}
      {may && run.status === "running" && (
        <form onSubmit={submit}>
          <input aria-label="Guidance for the agent" placeholder="Say something to the agent at work" value={text} onChange={(event) => setText(event.target.value)} />
          <button type="submit" className="weight-plain" disabled={!text.trim() || tell.isPending}>{tell.isPending ? "sending…" : "Send"}</button>
        </form>
      )}
      {tell.isError && <Trouble error={tell.error} />}
    </section>
  );
}

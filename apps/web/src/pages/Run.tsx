// One run, whole: where it is, what waits, what the agents say and do, what was made and what it cost.
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { client, useMayDecide, useOfRun, useRun } from "../data";
import { api, type Run } from "../http";
import { Link } from "../router";
import { Artifacts } from "../ui/Artifacts";
import { DiffView } from "../ui/DiffView";
import { Events } from "../ui/Events";
import { HoldPanel } from "../ui/HoldPanel";
import { Sessions } from "../ui/Sessions";
import { Spend } from "../ui/Spend";
import { say } from "../ui/Toasts";
import { Badge, Loading, Status, Trouble, useNow, Words } from "../ui/bits";
import { ago, between, holdTone, holdWords, isOver, projectName, shortId, usd } from "../words";

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
      {run.attached && <p className="note">{run.attached.by} has this agent's session on a terminal of their own since {new Date(run.attached.since).toLocaleTimeString()}{run.attached.active ? "." : ", and left it without handing it back."} Resume hands it back.</p>}
      {run.failure && <div className="trouble"><p className="trouble-what">{run.failure}</p></div>}
      {!run.hold && !isOver(run) && <Waits run={run} />}
      <nav className="tabs" aria-label="Of this run">
        {run.hold && <Link href={`/runs/${id}`} aria-current={here === "" ? "page" : undefined}>Decide <Badge tone={holdTone(run.hold.kind)}>{holdWords(run.hold)}</Badge></Link>}
        {tabs.map(([name, word]) => <Link key={name} href={`/runs/${id}/${name}`} aria-current={here === name ? "page" : undefined}>{word}</Link>)}
      </nav>
      {here === "" && run.hold && <section className="run-hold" aria-label="What waits"><h2 className="sr">What waits</h2><HoldPanel key={run.hold.id} hold={run.hold} onDone={() => undefined} inRun /></section>}
      {here === "session" && <Sessions run={run} />}
      {here === "artifacts" && <Artifacts run={run} />}
      {here === "changes" && <Changes id={id} />}
      {here === "spend" && <Spend run={run} />}
      {here === "events" && <Events id={id} />}
    </main>
  );
}

function Head({ run }: { run: Run }) {
  const now = useNow();
  return (
    <header className="run-head">
      <div>
        <p className="crumbs"><Link href="/runs">Runs</Link><span className="mono">{shortId(run.id)}</span><span>{projectName(run.project)}</span><span>{run.playbook}</span>{run.tier && <span>{run.tier}</span>}</p>
        <h1>{run.request}</h1>
        <p className="facts">
          <Status status={run.status} />
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

function Controls({ run }: { run: Run }) {
  const may = useMayDecide();
  const [sure, setSure] = useState(false);
  const act = useMutation({
    mutationFn: (what: "cancel" | "pause" | "resume") => (what === "cancel" ? api.cancel(run.id) : what === "pause" ? api.pause(run.id) : api.resume(run.id)),
    onSuccess: (now, what) => {
      client.setQueryData(["run", run.id], now);
      void client.invalidateQueries({ queryKey: ["run", run.id] });
      say(`\`${shortId(run.id)}\` ${{ cancel: "cancelled", pause: "paused", resume: "goes on" }[what]}`);
      setSure(false);
    },
  });
  if (!may || isOver(run)) return null;
  return (
    <div className="controls">
      <div className="buttons">
        {run.hold?.kind === "paused" ? null : !run.hold && <button type="button" className="weight-plain" disabled={act.isPending} onClick={() => act.mutate("pause")}>Pause</button>}
        {sure ? (
          <>
            <button type="button" className="weight-no" disabled={act.isPending} onClick={() => act.mutate("cancel")}>{act.isPending ? "sending…" : "Yes, end this run"}</button>
            <button type="button" className="weight-plain" onClick={() => setSure(false)}>Keep it</button>
          </>
        ) : !run.hold && <button type="button" className="weight-plain" onClick={() => setSure(true)}>Cancel…</button>}
      </div>
      {act.isError && <Trouble error={act.error} />}
    </div>
  );
}

function Rail({ run }: { run: Run }) {
  const now = useNow(1_000);
  const stages = run.stages ?? [];
  if (stages.length === 0) return null;
  return (
    <ol className="rail">
      {stages.map((stage) => {
        const active = stage.state === "active" && !isOver(run);
        const took = stage.startedAt ? between(stage.startedAt, stage.completedAt && stage.state === "done" ? stage.completedAt : (run.completedAt ?? null), now) : "";
        return (
          <li key={stage.name} className={`stage ${stage.state}${active ? " active" : ""}`}>
            <span className="stage-dot" aria-hidden="true">{stage.state === "done" ? "✓" : stage.state === "holding" ? "!" : ""}</span>
            <span className="stage-name">{stage.name}</span>
            <span className="stage-sub">{[stage.role, stage.visits > 1 && `round ${stage.visits}`, took].filter(Boolean).join(" · ")}<span className="sr"> {stage.state}</span></span>
          </li>
        );
      })}
    </ol>
  );
}

function Family({ run }: { run: Run }) {
  const tasks = run.tasks ?? [];
  if (!run.parent && tasks.length === 0) return null;
  return (
    <section className="family" aria-label="Related runs">
      {run.parent && <p className="quiet">Works on a task of <Link href={`/runs/${run.parent}`}>{shortId(run.parent)}</Link></p>}
      {tasks.length > 0 && <ul className="tasks">{tasks.map((task, at) => <Task key={at} task={task} />)}</ul>}
    </section>
  );
}

function Task({ task }: { task: object }) {
  const { id, title, state, status, run } = task as { id?: string; title?: string; state?: string; status?: string; run?: string | null };
  return <li><span className="quiet">{state ?? status}</span> {run ? <Link href={`/runs/${run}`}>{title ?? id}</Link> : (title ?? id)}</li>;
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
      {why.data && <p><strong>Now:</strong> <Words text={why.data.waitsFor} />{why.data.queue ? ` (${why.data.queue.ahead} ahead)` : ""}</p>}
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

function Changes({ id }: { id: string }) {
  const diff = useOfRun(id, "diff", () => api.diff(id));
  if (!diff.data) return diff.isError ? <Trouble error={diff.error} retry={() => void diff.refetch()} /> : <Loading lines={8} />;
  return (
    <section aria-label="Changes">
      <p className="quiet">{diff.data.files.length} files against {diff.data.base.slice(0, 7)}</p>
      <DiffView diff={diff.data.diff} />
      {diff.data.truncated && <p className="quiet">Cut, since it is very long; <code>holdpoint diff {shortId(id)}</code> shows all of it.</p>}
    </section>
  );
}


// One hold, whole: what is asked, what it is about, and the decisions it takes.
import { useCallback, useMemo, useState } from "react";
import { useMayDecide, useOfRun, useRun } from "../data";
import { api, type Hold } from "../http";
import { Link } from "../router";
import { between, headline, holdTone, holdWords, projectName, shortId, usd } from "../words";
import { asFeedback, Comments, type Said } from "./Comments";
import { Decide } from "./Decide";
import type { Opened } from "./ChangeView";
import { Evidence, isCode } from "./Evidence";
import { Badge, Marked, useNow, Words } from "./bits";

const LOADING: Opened = { state: "loading", all: 0, unopened: [], openAll: () => undefined };
/** Whether a yes to this hold is one to a change of code. */
const showsCode = (hold: Hold) => (hold.artifact ? isCode(hold.artifact.type) : ["fix", "review", "conflict"].includes(hold.kind));

export function HoldPanel({ hold, onDone, inRun = false }: { hold: Hold; onDone: () => void; inRun?: boolean }) {
  const now = useNow();
  const run = useRun(hold.run);
  const may = useMayDecide();
  const [shown, setShown] = useState("");
  const onShown = useCallback((digest: string) => setShown(digest), []);
  const [opened, setOpened] = useState<Opened>();
  const spec = hold.artifact && run.data ? run.data.artifacts.findIndex((made) => made.digest === hold.artifact?.digest) + 1 : 0;
  const text = useOfRun(hold.run, `artifact-${spec}`, () => api.artifact(hold.run, spec), spec > 0 && hold.allowed.includes("modify_plan"));
  const [said, setSaid] = useState<Said[]>([]);
  const told = may && (hold.allowed.includes("reject") || hold.allowed.includes("retry"));
  const comments = useMemo(() => {
    const say = (place: string, words: string) => setSaid((list) => [...list.filter((one) => one.place !== place), ...(words ? [{ place, text: words }] : [])]);
    return told ? { list: said, say } : undefined;
  }, [said, told]);
  const bare = hold.question ?? (hold.kind === "approval" && hold.artifact ? undefined : hold.summary);
  return (
    <article className={hold.allowed.includes("answer") ? "panel asks" : "panel"} aria-label={`${holdWords(hold)}: ${hold.summary}`}>
      <div className="panel-body">
        {!inRun && (
          <header className="panel-head">
            <p className="crumbs">
              <Badge tone={holdTone(hold.kind)}>{holdWords(hold)}</Badge>
              <Link href={`/runs/${hold.run}`} className="run-link">{shortId(hold.run)}</Link>
              {run.data && <span>{projectName(run.data.project)}</span>}
              {hold.stage && <span>{hold.stage}</span>}
              <span>waiting for {between(hold.since, null, now)}</span>
            </p>
            <h2>{run.data ? <Marked text={headline(run.data.request)} /> : " "}</h2>
            {run.data && <p className="facts">
              <span>{usd(run.data.spend.usd)} spent{run.data.spend.limitUsd ? ` of ${usd(run.data.spend.limitUsd)}` : ""}</span>
              <span className="branch" title={run.data.branch}>{run.data.branch}</span>
            </p>}
          </header>
        )}
        {bare && <p className={hold.question ? "question" : "statement"}><Words text={bare} /></p>}
        {hold.context && <p className="context"><Words text={hold.context} /></p>}
        {hold.deadline && <p className="deadline">Ends by itself {new Date(hold.deadline).toLocaleString()}{hold.atDeadline ? `: ${hold.atDeadline.replaceAll("_", " ")}` : ""}.</p>}
        {(hold.strangers ?? []).length > 0 && <p className="strangers">This run has read text of strangers: <Marked text={hold.strangers?.join(", ") ?? ""} />. Look closely.</p>}
        {(hold.memory ?? []).length > 0 && <MemoryLines lines={hold.memory ?? []} />}
        {(hold.findings ?? []).length > 0 && (
          <ul className="findings" aria-label="What looks like a secret">
            {hold.findings?.map((found) => <li key={`${found.path}:${found.line}:${found.column}`}><code>{found.path}:{found.line}:{found.column}</code> {found.knownAs ? `the value of ${found.knownAs}, which Holdpoint knows` : found.kind} <span className="quiet">({found.excerpt})</span></li>)}
          </ul>
        )}
        {(hold.asked ?? []).map((asked, at) => <Asked key={at} asked={asked} />)}
        <Comments.Provider value={comments}><Evidence hold={hold} run={run.data} onShown={onShown} onOpened={setOpened} /></Comments.Provider>
      </div>
      <footer className="panel-foot">
        <Decide key={`${hold.id} ${hold.digest}`} hold={hold} shown={shown === hold.digest} opened={showsCode(hold) ? (opened ?? LOADING) : undefined} may={may} onDone={onDone} plan={text.data?.content} feedback={asFeedback(said)} />
      </footer>
    </article>
  );
}

/** What approving adds to the memory that later agents read. */
function MemoryLines({ lines }: { lines: string[] }) {
  return (
    <details className="memory" open>
      <summary>Added to the project's memory, which later agents read</summary>
      <ul>{lines.map((line, at) => <li key={at}><Words text={line} /></li>)}</ul>
    </details>
  );
}

function Asked({ asked }: { asked: object }) {
  const { question, answer } = asked as { question?: string; answer?: string | null };
  return (
    <div className="asked">
      <p><strong>You asked:</strong> <Marked text={question ?? ""} /></p>
      <p><Marked text={answer ?? "No answer yet."} /></p>
    </div>
  );
}

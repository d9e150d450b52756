// What a person needs to see before deciding on a hold: the plan, the code, the failing check.
import { useEffect, useRef } from "react";
import { useOfRun } from "../data";
import { api, type Hold, type Run, type RunEvent } from "../http";
import { ChangeView, type Opened } from "./ChangeView";
import { Markdown } from "./Markdown";
import { Recent } from "./Sessions";
import { Loading, Marked, Trouble, Words } from "./bits";

export const isCode = (type: string) => type === "code" || type === "handoff";

type Props = { hold: Hold; run: Run | undefined; onShown: (digest: string) => void; onOpened: (opened: Opened) => void };

/** `onShown` is told the digest of the hold once what it binds is on the screen, `onOpened` how much of a change is. */
export function Evidence({ hold, run, onShown, onOpened }: Props) {
  const number = hold.artifact && run ? run.artifacts.findIndex((made) => made.digest === hold.artifact?.digest && made.version === hold.artifact.version) + 1 : 0;
  const artifact = useOfRun(hold.run, `artifact-${number}`, () => api.artifact(hold.run, number), number > 0);
  const failed = hold.kind === "fix" || hold.kind === "stuck";
  const events = useOfRun(hold.run, "events", () => api.events(hold.run), failed);
  // Of code the files say more: a change that cannot be read is told of, and takes no yes.
  const ready = hold.artifact ? artifact.isSuccess || (isCode(hold.artifact.type) && artifact.isError) : true;
  useEffect(() => {
    if (ready) onShown(hold.digest);
  }, [ready, hold.digest, onShown]);
  return (
    <>
      {hold.artifact && (
        <section aria-label="What was made">
          <header className="section-head">
            <h3><Words text={hold.artifact.title} /></h3>
            <span className="quiet">version {hold.artifact.version} · {hold.artifact.commit.slice(0, 7)}</span>
          </header>
          <Risks risks={hold.artifact.risks ?? []} />
          {artifact.isPending && <Loading lines={8} />}
          {artifact.isError && <Trouble error={artifact.error} retry={() => void artifact.refetch()} />}
          {artifact.data && (isCode(hold.artifact.type) ? <Code run={hold.run} number={number} note={artifact.data.note} onOpened={onOpened} /> : <Content kind={hold.artifact.type} content={artifact.data.content} drawings={artifact.data.drawings} title={hold.artifact.title} />)}
        </section>
      )}
      {failed && events.data && <Proof events={events.data} />}
      {["permission", "stuck", "timeout", "model", "quota", "budget"].includes(hold.kind) && <Recent run={hold.run} />}
      {(hold.kind === "fix" || hold.kind === "review" || hold.kind === "conflict") && !hold.artifact && <Changes run={hold.run} onOpened={onOpened} />}
    </>
  );
}

/** The words of its agent, then every file. */
export function Code({ run, number, note, onOpened }: { run: string; number: number; note?: string | null | undefined; onOpened?: (opened: Opened) => void }) {
  return (
    <>
      {note && <Markdown text={note} />}
      <ChangeView run={run} of={number} {...(onOpened && { onOpened })} />
    </>
  );
}

export function Content({ kind, content, drawings, title }: { kind: string; content: string; drawings: string[]; title: string }) {
  if (kind === "plan") return <Tasks content={content} />;
  return <Markdown text={content} drawings={drawings} title={title} />;
}

/** A plan of tasks is JSON; what is not understood is shown as it is. */
export function Tasks({ content }: { content: string }) {
  type Task = { id?: string; title?: string; description?: string; dependsOn?: string[]; files?: string[]; parent?: string | null; checks?: { name?: string; command?: string }[] };
  let plan: { summary?: string; tasks?: Task[] } | undefined;
  try {
    plan = JSON.parse(content) as typeof plan;
  } catch {
    plan = undefined;
  }
  if (!plan || !Array.isArray(plan.tasks)) return <pre tabIndex={0}><Marked text={content} /></pre>;
  return (
    <div className="prose">
      {plan.summary && <p><Marked text={plan.summary} /></p>}
      <ol>
        {plan.tasks.map((task, at) => (
          <li key={task.id ?? at}>
            <strong><Marked text={task.title ?? task.id ?? ""} /></strong> {task.id && <span className="quiet mono">{task.id}</span>} <span className="said-by-plan">{task.description ?? ""}</span>
            {task.parent && <span className="quiet"> part of {task.parent}</span>}
            {(task.dependsOn ?? []).length > 0 && <span className="quiet"> after {task.dependsOn?.join(", ")}</span>}
            {(task.files ?? []).map((file) => <code key={file}><Marked text={file} /></code>)}
            {(task.checks ?? []).map((check, at) => <p key={at}>check {check.name}: <code>{check.command}</code></p>)}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Risks({ risks }: { risks: readonly object[] }) {
  if (risks.length === 0) return null;
  return (
    <ul className="risks">
      {risks.map((risk, at) => {
        const words = Object.values(risk).filter((value) => typeof value === "string");
        return <li key={at}><Words text={words.join(" · ")} /></li>;
      })}
    </ul>
  );
}

function Changes({ run, onOpened }: { run: string; onOpened: (opened: Opened) => void }) {
  return (
    <section aria-label="The change">
      <header className="section-head"><h3>The change</h3></header>
      <ChangeView run={run} of="branch" onOpened={onOpened} />
    </section>
  );
}

type Check = { name: string; command: string; exit: number | null; tail: string };
type Review = { summary?: string; findings?: { message: string; place?: string | null }[] };

/** The last checks and what was found in them. */
function Proof({ events }: { events: RunEvent[] }) {
  const last = (type: string) => events.findLast((event) => event.type === type)?.payload as Record<string, unknown> | undefined;
  const proof = last("PROOF_RECORDED")?.["proof"] as { checks?: Check[] } | undefined;
  const review = last("VALIDATION_FAILED")?.["review"] as Review | undefined;
  const checks = proof?.checks ?? [];
  const findings = (review?.findings ?? []).filter((finding) => !checks.some((check) => finding.message.startsWith(`\`${check.command}\` failed`)));
  if (checks.length === 0 && findings.length === 0) return null;
  return (
    <section aria-label="Checks">
      <header className="section-head"><h3>Checks</h3></header>
      {checks.map((check) => (
        <details key={check.name} className="check" open={check.exit !== 0}>
          <summary>
            <span className={check.exit === 0 ? "tone-good" : "tone-bad"}>{check.exit === 0 ? "✓" : "✗"}</span> <strong>{check.name}</strong> <code>{check.command}</code>
            <span className="quiet">{check.exit === null ? "did not end" : `exit ${check.exit}`}</span>
          </summary>
          <Tail text={check.tail} />
        </details>
      ))}
      {findings.length > 0 && (
        <ul className="findings">
          {findings.map((finding, at) => <li key={at}>{finding.place && <code>{finding.place}</code>} <Words text={finding.message} /></li>)}
        </ul>
      )}
    </section>
  );
}

/** Long output begins where it went wrong. */
function Tail({ text }: { text: string }) {
  const bad = /^\s*(not ok|fail|error|✗|✖|FAILED|panicked)/i;
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const first = box.current?.querySelector<HTMLElement>(".bad-line");
    if (box.current && first) box.current.scrollTop = first.offsetTop - box.current.offsetTop - 24;
  }, []);
  return (
    <pre className="tail" tabIndex={0} ref={box}>
      {text.split("\n").map((line, at) => <span key={at} className={bad.test(line) ? "bad-line" : undefined}><Marked text={`${line}\n`} /></span>)}
    </pre>
  );
}

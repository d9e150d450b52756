// What agents said and did, and what one does right now.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { useOfRun } from "../data";
import { compared } from "../diff";
import { type Edit, editsOf } from "../edits";
import { api, type Run, type Session, type Turn, type TurnItem } from "../http";
import { useHeard } from "../socket";
import { count, one as many } from "../words";
import { Loading, Marked, Time, Trouble, Words } from "./bits";

export function Sessions({ run }: { run: Run }) {
  const sessions = useOfRun(run.id, "sessions", () => api.sessions(run.id));
  const [chosen, setChosen] = useState<string>();
  if (!sessions.data) return sessions.isError ? <Trouble error={sessions.error} /> : <Loading />;
  const session = sessions.data.find((one) => one.id === chosen) ?? sessions.data.findLast((one) => one.state === "active") ?? sessions.data.at(-1);
  if (!session) return <p className="quiet">No agent has spoken yet.</p>;
  return (
    <section aria-label="Session">
      <div className="session-list" role="group" aria-label="Conversations">
        {sessions.data.map((one) => (
          <button key={one.id} type="button" aria-pressed={one.id === session.id} onClick={() => setChosen(one.id)}>
            <span className={`dot ${one.state === "active" ? "tone-busy pulse" : one.state === "error" ? "tone-bad" : "tone-good"}`} aria-hidden="true" />
            {one.role} <span className="quiet">{one.stage} · {many(one.turns, "turn")} · {count(one.inputTokens + one.outputTokens)} tokens</span>
          </button>
        ))}
      </div>
      <History key={session.id} run={run} session={session} />
    </section>
  );
}

/** All turns: a session may be longer than one answer of the server. */
async function whole(id: string) {
  const turns: Turn[] = [];
  for (;;) {
    const part = await api.session(id, turns.at(-1)?.number ?? 0);
    turns.push(...part.turns);
    if (!part.more || part.turns.length === 0) return turns;
  }
}

function History({ run, session }: { run: Run; session: Session }) {
  const turns = useQuery({ queryKey: ["run", run.id, "sessions", session.id], queryFn: () => whole(session.id) });
  const heard = useHeard(run.id);
  const end = useRef<HTMLDivElement>(null);
  const near = useRef(true);
  const now = heard && session.id.endsWith(heard.session) && session.state === "active" ? heard : undefined;
  const stored = turns.data ?? [];
  // What was heard is shown until the stored turn says at least as much.
  const kept = now ? stored.filter((turn) => turn.number < now.turn) : stored;
  const same = now && stored.find((turn) => turn.number === now.turn);
  const items = same && same.items.length >= now.items.length ? same.items : now?.items;
  useEffect(() => {
    const watch = () => {
      near.current = window.innerHeight + window.scrollY > document.body.scrollHeight - 160;
    };
    window.addEventListener("scroll", watch, { passive: true });
    return () => window.removeEventListener("scroll", watch);
  }, []);
  useEffect(() => {
    if (now && near.current && window.scrollY > 0) end.current?.scrollIntoView({ block: "end" });
  }, [now]);
  if (turns.isError) return <Trouble error={turns.error} />;
  if (turns.isPending) return <Loading lines={8} />;
  return (
    <div className="history">
      {kept.map((turn) => <TurnBlock key={turn.number} number={turn.number} at={turn.startedAt} items={turn.items} />)}
      {now && <TurnBlock number={now.turn} items={items ?? []} live />}
      {session.problem && <p className="trouble">{session.problem}</p>}
      {session.state === "active" && <p className="quiet typing" role="status"><span className="dot tone-busy pulse" aria-hidden="true" /> {session.role} is at work</p>}
      <div ref={end} />
    </div>
  );
}

/** The last turns of the agent that waits: what led to this. */
export function Recent({ run }: { run: string }) {
  const sessions = useOfRun(run, "sessions", () => api.sessions(run));
  const session = sessions.data?.at(-1);
  const turns = useQuery({ queryKey: ["run", run, "sessions", session?.id], queryFn: () => whole(session?.id ?? ""), enabled: session !== undefined });
  const last = turns.data?.filter((turn) => turn.items.length > 0).slice(-3) ?? [];
  if (last.length === 0) return null;
  return (
    <section aria-label="What led to this">
      <header className="section-head"><h3>What led to this</h3><span className="quiet">{session?.role}, last turns</span></header>
      <div className="history">{last.map((turn) => <TurnBlock key={turn.number} number={turn.number} at={turn.startedAt} items={turn.items} />)}</div>
    </section>
  );
}

function TurnBlock({ number, at, items, live = false }: { number: number; at?: string; items: TurnItem[]; live?: boolean }) {
  return (
    <div className={live ? "turn live" : "turn"}>
      <div className="turn-mark quiet"><span>{number}</span>{at && <Time at={at} />}</div>
      <TurnItems items={items} />
    </div>
  );
}

export function TurnItems({ items }: { items: TurnItem[] }) {
  return <div className="turn-items">{items.map((item, index) => <Item key={item.kind === "tool" ? item.call : index} item={item} />)}</div>;
}

function Item({ item }: { item: TurnItem }) {
  if (item.kind === "message") return <div className={item.by ? "message person" : "message"}>{item.by && <strong>{item.by}: </strong>}<Words text={item.text} /></div>;
  if (item.kind === "thought") return <details className="thought"><summary>thought</summary><p><Marked text={item.text} /></p></details>;
  const state = item.ok === undefined || item.ok === null ? "…" : item.ok ? "✓" : "✗";
  const edits = editsOf(item.tool, item.input);
  return (
    <details className="tool" open={edits.length > 0}>
      <summary>
        <span className={item.ok === false ? "tone-bad" : item.ok ? "tone-good" : "tone-busy"}>{state}</span> <strong>{item.tool}</strong> <span className="tool-input">{brief(item.input)}</span>
        {item.millis !== undefined && item.millis !== null && <span className="quiet">{item.millis < 1000 ? `${item.millis} ms` : `${(item.millis / 1000).toFixed(1)} s`}</span>}
      </summary>
      {edits.length > 0 ? edits.map((edit, at) => <Edited key={at} edit={edit} />) : <Input text={item.input} />}
      {item.output ? (edits.length > 0 && item.ok ? null : <pre tabIndex={0}><Marked text={item.output} /></pre>) : <p className="quiet">{item.ok === undefined ? "still runs" : "no output"}</p>}
    </details>
  );
}

const LONGEST = 60;

/** An edit as it happens: what went and what came, with a line of what stayed around it. */
function Edited({ edit }: { edit: Edit }) {
  const lines = useMemo(() => compared(edit.before.replace(/\n$/, ""), edit.after.replace(/\n$/, "")).filter((line) => edit.before !== "" || line.kind !== "del"), [edit.before, edit.after]);
  const [all, setAll] = useState(false);
  const shown = all ? lines : lines.slice(0, LONGEST);
  return (
    <div className="edited">
      <p className="path mono">{edit.path}</p>
      <pre className="edit" tabIndex={0}>{shown.map((line, at) => <span key={at} className={line.kind}><Marked text={`${{ add: "+", del: "−", same: " " }[line.kind]} ${line.text}\n`} /></span>)}</pre>
      {lines.length > shown.length && <button type="button" className="weight-plain small" onClick={() => setAll(true)}>Show all {lines.length} lines</button>}
    </div>
  );
}

/** What a tool was called with, in a few words. */
export function brief(input: string): string {
  try {
    const fields = JSON.parse(input) as Record<string, unknown>;
    const first = fields["path"] ?? fields["command"] ?? fields["query"] ?? fields["title"] ?? fields["summary"] ?? Object.values(fields)[0];
    return typeof first === "string" ? first : JSON.stringify(first ?? "");
  } catch {
    return input;
  }
}

function Input({ text }: { text: string }) {
  let fields: Record<string, unknown> | undefined;
  try {
    fields = JSON.parse(text) as Record<string, unknown>;
  } catch {
    fields = undefined;
  }
  if (!fields || typeof fields !== "object") return <pre tabIndex={0}><Marked text={text} /></pre>;
  return <pre tabIndex={0}>{Object.entries(fields).map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value, null, 2)}`).join("\n")}</pre>;
}

// All runs: as a list that stays quick with ten thousand of them, or as a board by status.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useOpenRuns, useRuns } from "../data";
import type { Run } from "../http";
import { moved, pressed } from "../keys";
import { go, Link, useSearch } from "../router";
import { Tasks } from "../ui/Tasks";
import { Empty, Key, Loading, Status, Trouble, useNow, Words } from "../ui/bits";
import { ago, allStatuses, between, headline, holdWords, isOver, projectName, shortId, statusWords, usd } from "../words";

type Group = { word: string; statuses: string[]; over?: boolean };
const groups: Group[] = [
  { word: "Queued", statuses: ["queued"] },
  { word: "Working", statuses: ["running"] },
  { word: "Waiting for you", statuses: ["awaiting_approval", "awaiting_clarification", "paused", "stuck"] },
  { word: "Done", statuses: ["completed"], over: true },
  { word: "Ended", statuses: ["failed", "cancelled"], over: true },
];

/** Runs whose id, request, branch or project contains every word. */
export function searched(runs: Run[], text: string, status: string): Run[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    if (status && run.status !== status) return false;
    const all = `${run.id} ${run.request} ${run.branch} ${projectName(run.project)} ${run.playbook}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

export function Runs() {
  const asked = new URLSearchParams(useSearch());
  const [text, setText] = useState(asked.get("q") ?? "");
  const [status, setStatus] = useState(asked.get("status") ?? "");
  const view = asked.get("view") ?? "list";
  const board = view === "board";
  const { runs, isError, error, refetch, hasNextPage, more, looking } = useRuns(status, useDeferredValue(text.trim()));
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const mark = (id: string) => setMarked((now) => {
    const next = new Set(now);
    if (!next.delete(id)) next.add(id);
    return next;
  });
  const wanted = useDeferredValue(text);
  const shown = useMemo(() => (runs ? searched(runs, wanted, status) : undefined), [runs, wanted, status]);
  useEffect(() => {
    const words = new URLSearchParams();
    if (text) words.set("q", text);
    if (status) words.set("status", status);
    if (view !== "list") words.set("view", view);
    go(`/runs${words.size > 0 ? `?${words}` : ""}`, "replace");
  }, [text, status, view]);
  const show = (name: string) => go(name === "list" ? "/runs" : `/runs?view=${name}`, "replace");
  return (
    <main className="page runs">
      <header className="page-head">
        <h1>Runs</h1>
        {runs && view !== "tasks" && <span className="quiet">{text ? `${shown?.length} found` : shown?.length}{looking ? ", looking further…" : hasNextPage && !text ? " or more" : ""}</span>}
        <div className="filters">
          <input type="search" placeholder="Search" aria-label="Search runs" value={text} onChange={(event) => setText(event.target.value)} />
          {view !== "tasks" && <select aria-label="Status" value={status} onChange={(event) => setStatus(event.target.value)}>
            <option value="">Any status</option>
            {allStatuses.map((word) => <option key={word} value={word}>{statusWords(word)}</option>)}
          </select>}
          <div className="segments" role="group" aria-label="View">
            <button type="button" aria-pressed={view === "list"} onClick={() => show("list")}>List</button>
            <button type="button" aria-pressed={board} onClick={() => show("board")}>Board</button>
            <button type="button" aria-pressed={view === "tasks"} onClick={() => show("tasks")}>Tasks</button>
          </div>
        </div>
      </header>
      {view === "tasks" ? <Tasks text={wanted} /> : (
        <>
          {isError && !runs && <Trouble error={error} retry={() => void refetch()} />}
          {!shown && !isError && <Loading lines={10} />}
          {shown && runs?.length === 0 && <Empty title="No run yet"><p>A run is one request on its way through planning, implementation and validation.</p><p><Link className="button weight-yes" href="/new">Start a run</Link></p></Empty>}
          {shown && shown.length === 0 && (runs?.length ?? 0) > 0 && <Empty title="No run matches"><p><button type="button" className="weight-plain" onClick={() => { setText(""); setStatus(""); }}>Show all</button></p></Empty>}
          {shown && shown.length > 0 && (board ? <Board runs={shown} more={hasNextPage} /> : <List runs={shown} marked={marked} mark={mark} more={more} />)}
          {marked.size > 0 && !board && <Marked marked={marked} clear={() => setMarked(new Set())} />}
        </>
      )}
    </main>
  );
}

const MOST_COMPARED = 20;

function Marked({ marked, clear }: { marked: ReadonlySet<string>; clear: () => void }) {
  const many = marked.size > MOST_COMPARED;
  return (
    <div className="marked" role="status">
      <span>{marked.size} marked{many ? `; at most ${MOST_COMPARED} can be compared` : marked.size === 1 ? "; mark another to compare" : ""}</span>
      <button type="button" className="weight-yes" disabled={marked.size < 2 || many} onClick={() => go(`/compare?runs=${[...marked].join(",")}`)}>Compare<Key>c</Key></button>
      <button type="button" className="weight-plain" onClick={clear}>Clear</button>
    </div>
  );
}

type ListProps = { runs: Run[]; marked: ReadonlySet<string>; mark: (id: string) => void; more: () => void };

function List({ runs, marked, mark, more }: ListProps) {
  const now = useNow();
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(-1);
  const rows = useVirtualizer({ count: runs.length, getScrollElement: () => box.current, estimateSize: () => 62, overscan: 8, getItemKey: (index) => runs[index]?.id ?? index });
  const last = rows.getVirtualItems().at(-1)?.index ?? 0;
  const near = last > runs.length - 40;
  useEffect(() => {
    if (near) more();
  }, [near, more]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const act = pressed(event);
      if (act === "next" || act === "previous") {
        event.preventDefault();
        const next = moved(at, runs.length, act);
        setAt(next);
        rows.scrollToIndex(next);
      } else if (act === "open" && runs[at]) go(`/runs/${runs[at].id}`);
      else if (act === "mark" && runs[at]) mark(runs[at].id);
      else if (act === "compare" && marked.size > 1) go(`/compare?runs=${[...marked].join(",")}`);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  });
  return (
    <div className="rows table" ref={box} role="list" tabIndex={0} aria-label="Runs">
      <div className="rows-all" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((item) => {
          const run = runs[item.index];
          return run && (
            <div key={item.key} role="listitem" className="row-slot" style={{ transform: `translateY(${item.start}px)`, height: item.size }}>
              <input type="checkbox" className="mark" aria-label={`Mark ${shortId(run.id)} to compare`} checked={marked.has(run.id)} onChange={() => mark(run.id)} />
              <Link href={`/runs/${run.id}`} className={item.index === at ? "run-row selected" : "run-row"}>
                <span className="cell-status"><Status status={run.status} /></span>
                <span className="cell-main"><span className="row-title">{headline(run.request)}</span><span className="row-sub"><Words text={run.hold ? `${holdWords(run.hold)}: ${run.hold.question ?? run.hold.summary}` : (run.failure ?? `${run.stage ?? run.playbook} · ${run.branch}`)} /></span></span>
                <span className="cell quiet project">{projectName(run.project)}</span>
                <span className="cell quiet mono">{shortId(run.id)}</span>
                <span className="cell quiet money">{usd(run.spend.usd)}</span>
                <span className="cell quiet when">{isOver(run) ? `took ${between(run.createdAt, run.completedAt, now)}` : ago(run.updatedAt, now)}</span>
              </Link>
            </div>
          );
        })}
      </div>
    </div>
  );
}

const MOST = 60;

function Board({ runs: listed, more }: { runs: Run[]; more: boolean }) {
  const now = useNow();
  const open = useOpenRuns();
  // Those that wait or work are all here, however old; of those that are over, the newest.
  const runs = useMemo(() => {
    const ids = new Set(listed.map((run) => run.id));
    return more ? [...listed, ...[...(open?.values() ?? [])].filter((run) => !run.parent && !ids.has(run.id))] : listed;
  }, [listed, open, more]);
  return (
    <div className="board" tabIndex={0} role="region" aria-label="Runs by status">
      {groups.map((group) => {
        const here = runs.filter((run) => group.statuses.includes(run.status));
        return (
          <section key={group.word} className="column" aria-label={group.word}>
            <h2>{group.word} <span className="quiet">{here.length}{more && group.over ? "+" : ""}</span></h2>
            {here.slice(0, MOST).map((run) => (
              <Link key={run.id} href={`/runs/${run.id}`} className="card">
                <span className="row-title">{headline(run.request)}</span>
                {run.hold && <span className="row-sub"><Words text={run.hold.question ?? run.hold.summary} /></span>}
                <span className="card-foot"><Status status={run.status} /><span className="quiet">{usd(run.spend.usd)} · {ago(run.updatedAt, now)}</span></span>
              </Link>
            ))}
            {here.length > MOST && <p className="quiet">and {here.length - MOST} more; the list has all of them</p>}
            {here.length === 0 && <p className="quiet none">none</p>}
          </section>
        );
      })}
    </div>
  );
}

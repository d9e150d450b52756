// All runs: as a list that stays quick with ten thousand of them, or as a board by status.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useRuns } from "../data";
import type { Run } from "../http";
import { moved, pressed } from "../keys";
import { go, Link, useSearch } from "../router";
import { Empty, Loading, Status, Trouble, useNow, Words } from "../ui/bits";
import { ago, allStatuses, between, holdWords, isOver, projectName, shortId, statusWords, usd } from "../words";

type Group = { word: string; statuses: string[] };
const groups: Group[] = [
  { word: "Queued", statuses: ["queued"] },
  { word: "Working", statuses: ["running"] },
  { word: "Waiting for you", statuses: ["awaiting_approval", "awaiting_clarification", "paused", "stuck"] },
  { word: "Done", statuses: ["completed"] },
  { word: "Ended", statuses: ["failed", "cancelled"] },
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
  const { runs, isError, error, refetch, hasNextPage } = useRuns();
  const asked = new URLSearchParams(useSearch());
  const [text, setText] = useState(asked.get("q") ?? "");
  const [status, setStatus] = useState(asked.get("status") ?? "");
  const board = asked.get("view") === "board";
  const wanted = useDeferredValue(text);
  const shown = useMemo(() => (runs ? searched(runs, wanted, status) : undefined), [runs, wanted, status]);
  useEffect(() => {
    const words = new URLSearchParams();
    if (text) words.set("q", text);
    if (status) words.set("status", status);
    if (board) words.set("view", "board");
    go(`/runs${words.size > 0 ? `?${words}` : ""}`, "replace");
  }, [text, status, board]);
  const view = (name: string) => go(name === "board" ? "/runs?view=board" : "/runs", "replace");
  return (
    <main className="page runs">
      <header className="page-head">
        <h1>Runs</h1>
        {runs && <span className="quiet">{shown?.length === runs.length ? runs.length : `${shown?.length} of ${runs.length}`}{hasNextPage ? ", loading more…" : ""}</span>}
        <div className="filters">
          <input type="search" placeholder="Search" aria-label="Search runs" value={text} onChange={(event) => setText(event.target.value)} />
          <select aria-label="Status" value={status} onChange={(event) => setStatus(event.target.value)}>
            <option value="">Any status</option>
            {allStatuses.map((word) => <option key={word} value={word}>{statusWords(word)}</option>)}
          </select>
          <div className="segments" role="group" aria-label="View">
            <button type="button" aria-pressed={!board} onClick={() => view("list")}>List</button>
            <button type="button" aria-pressed={board} onClick={() => view("board")}>Board</button>
          </div>
        </div>
      </header>
      {isError && !runs && <Trouble error={error} retry={() => void refetch()} />}
      {!shown && !isError && <Loading lines={10} />}
      {shown && runs?.length === 0 && <Empty title="No run yet"><p>A run is one request on its way through planning, implementation and validation.</p><p><Link className="button weight-yes" href="/new">Start a run</Link></p></Empty>}
      {shown && shown.length === 0 && (runs?.length ?? 0) > 0 && <Empty title="No run matches"><p><button type="button" className="weight-plain" onClick={() => { setText(""); setStatus(""); }}>Show all</button></p></Empty>}
      {shown && shown.length > 0 && (board ? <Board runs={shown} /> : <List runs={shown} />)}
    </main>
  );
}

function List({ runs }: { runs: Run[] }) {
  const now = useNow();
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(-1);
  const rows = useVirtualizer({ count: runs.length, getScrollElement: () => box.current, estimateSize: () => 62, overscan: 8, getItemKey: (index) => runs[index]?.id ?? index });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const act = pressed(event);
      if (act === "next" || act === "previous") {
        event.preventDefault();
        const next = moved(at, runs.length, act);
        setAt(next);
        rows.scrollToIndex(next);
      } else if (act === "open" && runs[at]) go(`/runs/${runs[at].id}`);
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
              <Link href={`/runs/${run.id}`} className={item.index === at ? "run-row selected" : "run-row"}>
                <span className="cell-status"><Status status={run.status} /></span>
                <span className="cell-main"><span className="row-title">{run.request || "(no request yet)"}</span><span className="row-sub"><Words text={run.hold ? `${holdWords(run.hold)}: ${run.hold.question ?? run.hold.summary}` : (run.failure ?? `${run.stage ?? run.playbook} · ${run.branch}`)} /></span></span>
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

function Board({ runs }: { runs: Run[] }) {
  const now = useNow();
  return (
    <div className="board" tabIndex={0} role="region" aria-label="Runs by status">
      {groups.map((group) => {
        const here = runs.filter((run) => group.statuses.includes(run.status));
        return (
          <section key={group.word} className="column" aria-label={group.word}>
            <h2>{group.word} <span className="quiet">{here.length}</span></h2>
            {here.slice(0, MOST).map((run) => (
              <Link key={run.id} href={`/runs/${run.id}`} className="card">
                <span className="row-title">{run.request}</span>
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

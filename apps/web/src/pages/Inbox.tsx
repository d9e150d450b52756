// The first page: everything that waits for a person, and the one that is looked at.
import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { useHolds, useOpenRuns } from "../data";
import { api, type Hold, type Run } from "../http";
import { moved, pressed } from "../keys";
import { go, Link, useSearch } from "../router";
import { HoldPanel } from "../ui/HoldPanel";
import { Badge, Empty, Key, Loading, Trouble, useNow, Words } from "../ui/bits";
import { ago, headline, holdTone, holdWords, shortId } from "../words";

const WIDE = "(min-width: 900px)";

export function Inbox() {
  const { holds, isError, error, refetch } = useHolds();
  const runs = useOpenRuns();
  const search = useSearch();
  const asked = new URLSearchParams(search).get("hold") ?? undefined;
  // The place in the list is kept when what was there is gone: the next one moves up.
  const [place, setPlace] = useState(0);
  const found = holds?.findIndex((hold) => hold.id === asked) ?? -1;
  const index = found >= 0 ? found : Math.min(place, (holds?.length ?? 0) - 1);
  const hold = holds?.[index];
  const isOpen = asked !== undefined;
  const select = (at: number, how: "push" | "replace" = "replace") => {
    const next = holds?.[at];
    if (!next) return;
    setPlace(at);
    go(`/?hold=${encodeURIComponent(next.id)}`, how);
  };
  useEffect(() => {
    if (found >= 0) setPlace(found);
  }, [found]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const act = pressed(event);
      if (act === "next" || act === "previous") {
        event.preventDefault();
        select(moved(index, holds?.length ?? 0, act));
      } else if (act === "open" && hold) {
        event.preventDefault();
        if (isOpen || matchMedia(WIDE).matches) go(`/runs/${hold.run}`);
        else select(index, "push");
      } else if (act === "close" && !matchMedia(WIDE).matches) go("/", "replace");
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  });
  if (isError && !holds) return <main className="page"><Trouble error={error} retry={() => void refetch()} /></main>;
  const working = [...(runs?.values() ?? [])].filter((run) => run.status === "running" || run.status === "queued").length;
  const next = () => go("/", "replace");
  return (
    <main className={isOpen ? "inbox open" : "inbox"}>
      <section className="inbox-list" aria-label="What waits for you">
        <header className="list-head">
          <h1>Inbox</h1>
          {holds && <span className="quiet">{holds.length === 0 ? "nothing waits" : `${holds.length} waiting`}</span>}
        </header>
        {!holds && <Loading lines={8} />}
        {holds && holds.length > 0 && <List holds={holds} runs={runs} index={index} select={(at) => select(at, matchMedia(WIDE).matches ? "replace" : "push")} />}
        {holds && holds.length > 0 && <p className="keys-line"><Key>j</Key><Key>k</Key> move <Key>a</Key> approve <Key>r</Key> send back <Key>?</Key> all keys</p>}
      </section>
      <section className="inbox-detail" aria-label="What is asked">
        {isOpen && <h1 className="sr narrow">Inbox</h1>}
        {isOpen && <button type="button" className="back" onClick={() => go("/", "replace")}>← Inbox</button>}
        {hold && <HoldPanel key={hold.id} hold={hold} onDone={next} />}
        {holds?.length === 0 && <Nothing working={working} />}
      </section>
    </main>
  );
}

function Nothing({ working }: { working: number }) {
  const newest = useQuery({ queryKey: ["any"], queryFn: api.newest });
  if (!newest.data) return null;
  if (newest.data.length === 0) {
    return (
      <Empty title="Nothing waits for you, because nothing runs yet">
        <p>A run takes a request and a repository through planning, implementation and validation. Where you want a say, it stops and shows up here.</p>
        <p><Link className="button weight-yes" href="/new">Start a run</Link></p>
        <p className="quiet">or in a terminal: <code>holdpoint run "Add a dark mode"</code></p>
      </Empty>
    );
  }
  return (
    <Empty title="All decided">
      <p>{working > 0 ? `${working} ${working === 1 ? "run is" : "runs are"} at work. The next question appears here by itself.` : "No run is at work."}</p>
      <p><Link className="button weight-plain" href="/runs">See the runs</Link> <Link className="button weight-yes" href="/new">Start a run</Link></p>
    </Empty>
  );
}

type ListProps = { holds: Hold[]; runs: ReadonlyMap<string, Run> | undefined; index: number; select: (at: number) => void };

function List({ holds, runs, index, select }: ListProps) {
  const now = useNow();
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({ count: holds.length, getScrollElement: () => box.current, estimateSize: () => 84, overscan: 6, getItemKey: (at) => holds[at]?.id ?? at });
  useEffect(() => {
    if (index >= 0) rows.scrollToIndex(index);
  }, [index, rows]);
  return (
    <div className="rows" ref={box} role="listbox" aria-label="Holds" tabIndex={0} aria-activedescendant={holds[index] ? `hold-${holds[index].id}` : undefined}>
      <div className="rows-all" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((item) => {
          const hold = holds[item.index];
          if (!hold) return null;
          return (
            <div
              key={item.key} id={`hold-${hold.id}`} role="option" aria-selected={item.index === index} className={item.index === index ? "row selected" : "row"}
              style={{ transform: `translateY(${item.start}px)`, height: item.size }} onClick={() => select(item.index)}
            >
              <span className="row-top"><Badge tone={holdTone(hold.kind)}>{holdWords(hold)}</Badge><span className="quiet">{shortId(hold.run)}</span><span className="quiet when">{ago(hold.since, now)}</span></span>
              <span className="row-title">{headline(runs?.get(hold.run)?.request ?? hold.summary)}</span>
              <span className="row-sub"><Words text={hold.question ?? hold.artifact?.title ?? hold.summary} /></span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

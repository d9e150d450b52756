// Where a run is: its stages in order, and every round of them with its time.
import { useState } from "react";
import { useOfRun } from "../data";
import { api, type Run } from "../http";
import { rounds } from "../rounds";
import { between, isOver, span } from "../words";
import { Loading, Time, Trouble, useNow } from "./bits";

export function Rail({ run }: { run: Run }) {
  const now = useNow(1_000);
  const [open, setOpen] = useState(false);
  const stages = run.stages ?? [];
  if (stages.length === 0) return null;
  const visits = stages.reduce((sum, stage) => sum + stage.visits, 0);
  return (
    <section className="rail-box" aria-label="Stages">
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
      {visits > 0 && <button type="button" className="ghost rounds-button" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "▾" : "▸"} {visits === 1 ? "1 round" : `${visits} rounds`}, with times</button>}
      {open && <Rounds run={run} now={now} />}
    </section>
  );
}

function Rounds({ run, now }: { run: Run; now: number }) {
  const events = useOfRun(run.id, "events", () => api.events(run.id));
  if (!events.data) return events.isError ? <Trouble error={events.error} /> : <Loading lines={3} />;
  const told = rounds(events.data, now);
  const from = told[0]?.from ?? now;
  const to = run.completedAt ? Date.parse(run.completedAt) : now;
  const x = (at: number) => ((at - from) / Math.max(1, to - from)) * 300;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Rounds">
      <table className="data rounds">
        <thead><tr><th scope="col">Stage</th><th scope="col" className="right">Round</th><th scope="col">Began</th><th scope="col" className="right">Worked</th><th scope="col" className="right">Waited</th><th scope="col">Ended</th><th scope="col" className="gantt"><span className="sr">When</span></th></tr></thead>
        <tbody>
          {told.map((round, at) => {
            const end = round.to ?? to;
            return (
              <tr key={at}>
                <th scope="row">{round.stage}</th><td className="right">{round.visit}</td><td><Time at={new Date(round.from).toISOString()} /></td>
                <td className="right">{span(Math.max(0, end - round.from - round.waited) / 1000)}</td><td className="right">{round.waited > 500 ? span(round.waited / 1000) : "–"}</td><td>{round.ended || (run.hold ? "waits" : "under way")}</td>
                <td className="gantt"><svg width="300" height="12" aria-hidden="true"><rect x={x(round.from)} width={Math.max(2, x(end) - x(round.from))} height="12" rx="2" className="fill-three" /><rect x={x(round.from)} width={Math.max(2, x(end - round.waited) - x(round.from))} height="12" rx="2" className={round.ended === "sent back" || round.ended === "failed" ? "fill-two" : "fill-one"} /></svg></td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

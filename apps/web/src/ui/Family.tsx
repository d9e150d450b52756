// The runs a run belongs to: its parent, the ways it competes with, and its tasks as a graph of what waits for what.
import { useMemo } from "react";
import { arranged, type Chart } from "../flowchart";
import type { PlanTask, Run } from "../http";
import { go, Link } from "../router";
import { one, shortId, type Tone, usd } from "../words";
import { Badge, Marked } from "./bits";

const states: Record<string, [string, Tone, string]> = {
  waiting: ["waits", "calm", "○"], starting: ["starts", "busy", "◔"], working: ["at work", "busy", "◐"], ready: ["ready", "busy", "◕"], merging: ["is merged", "busy", "◕"],
  merged: ["merged", "good", "●"], conflicted: ["conflict", "bad", "✗"], failed: ["failed", "bad", "✗"], skipped: ["left out", "calm", "–"],
};
export const taskState = (status: string) => states[status] ?? ([status, "calm", "○"] as [string, Tone, string]);

export function Family({ run }: { run: Run }) {
  const tasks = run.tasks ?? [];
  const { group } = run;
  const { forkedFrom } = run;
  if (!run.parent && !group && !forkedFrom && tasks.length === 0) return null;
  const done = tasks.filter((task) => task.status === "merged").length;
  return (
    <section className="family" aria-label="Related runs">
      {run.parent && <p className="quiet">Works on task {run.task ?? ""} of <Link href={`/runs/${run.parent}`}>{shortId(run.parent)}</Link></p>}
      {forkedFrom && <p className="quiet">Begins where <Link href={`/runs/${forkedFrom.run}`}>{shortId(forkedFrom.run)}</Link> stood after event {forkedFrom.at}. <Link href={`/compare?runs=${forkedFrom.run},${run.id}`}>Compare both</Link></p>}
      {group && <p className="quiet">{group.variants ? `Way ${group.index} of ${group.of} to the same end.` : `Run ${group.index} of ${group.of} started together.`} <Link href={`/compare?runs=${run.id}`}>Compare them</Link></p>}
      {tasks.length > 0 && (
        <>
          <header className="section-head"><h2>Tasks</h2><span className="quiet">{done} of {tasks.length} merged, {usd(tasks.reduce((sum, task) => sum + task.cost, 0))} so far</span></header>
          <Graph tasks={tasks} />
          <details className="as-list"><summary>As a list</summary><List tasks={tasks} /></details>
          {(run.overlaps ?? []).length > 0 && <p className="quiet">One after the other, since they touch the same files: {run.overlaps?.map((overlap) => `${overlap.first} and ${overlap.second} (${overlap.files.join(", ")})`).join("; ")}.</p>}
        </>
      )}
    </section>
  );
}

const [WIDTH, HEIGHT] = [206, 54];

function Graph({ tasks }: { tasks: PlanTask[] }) {
  const key = tasks.map((task) => `${task.id}<${task.dependsOn.join()}`).join();
  const chart = useMemo(
    (): Chart => arranged(tasks.map((task) => ({ id: task.id, label: task.title, shape: "box" as const, width: WIDTH, height: HEIGHT })), tasks.flatMap((task) => task.dependsOn.map((from) => ({ from, to: task.id, label: "", dashed: false, open: false }))), true),
    // Drawn anew for another form of the plan, not for how far it is.
    [key],
  );
  const known = new Map(tasks.map((task) => [task.id, task]));
  const height = Math.max(...chart.boxes.map((box) => box.y + HEIGHT / 2), ...chart.arrows.flatMap((arrow) => arrow.points.map(([, y]) => y))) + 14;
  return (
    <div className="graph scroll" tabIndex={0} role="region" aria-label={`Graph of ${one(tasks.length, "task")}`}>
      <svg width={chart.width} height={height}>
        {chart.arrows.map((arrow) => <path key={`${arrow.from} ${arrow.to}`} d={curved(arrow.points)} className={`edge ${known.get(arrow.from)?.status === "merged" ? "met" : ""}`} aria-hidden="true" />)}
        {chart.boxes.map((box) => {
          const task = known.get(box.id);
          return task && <Node key={box.id} task={task} x={box.x - WIDTH / 2} y={box.y - HEIGHT / 2} />;
        })}
      </svg>
    </div>
  );
}

function curved(points: [number, number][]): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return "";
  if (points.length === 4 && points[1]?.[1] === first[1]) {
    const middle = (first[0] + last[0]) / 2;
    return `M${first[0]} ${first[1]}C${middle} ${first[1]} ${middle} ${last[1]} ${last[0]} ${last[1]}`;
  }
  return `M${points.map(([x, y]) => `${x} ${y}`).join("L")}`;
}

function Node({ task, x, y }: { task: PlanTask; x: number; y: number }) {
  const [word, tone, sign] = taskState(task.status);
  const title = task.title.length > 27 ? `${task.title.slice(0, 26)}…` : task.title;
  const body = (
    <>
      <title>{`${task.title}: ${word}`}</title>
      <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx="8" />
      <text x={x + 12} y={y + 21} className="name">{title}</text>
      <text x={x + 12} y={y + 40} className={`state tone-${tone}`}>{`${sign} ${word}${task.attempt > 1 ? `, try ${task.attempt}` : ""}`}</text>
      <text x={x + WIDTH - 10} y={y + 40} textAnchor="end" className="cost">{task.cost > 0 ? usd(task.cost) : ""}</text>
    </>
  );
  const { child } = task;
  if (!child) return <g className={`task-node tone-${tone}`}>{body}</g>;
  const open = (event: React.MouseEvent) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    go(`/runs/${child}`);
  };
  return <a href={`/runs/${child}`} onClick={open} className={`task-node tone-${tone}`}>{body}</a>;
}

function List({ tasks }: { tasks: PlanTask[] }) {
  return (
    <ul className="tasks">
      {tasks.map((task) => {
        const [word, tone] = taskState(task.status);
        return (
          <li key={task.id}>
            <Badge tone={tone}>{word}</Badge> {task.child ? <Link href={`/runs/${task.child}`}><Marked text={task.title} /></Link> : <Marked text={task.title} />}
            {task.dependsOn.length > 0 && <span className="quiet"> after {task.dependsOn.join(", ")}</span>}
            {task.problem && <span className="tone-bad"> {task.problem}</span>}
            {(task.strayed ?? []).length > 0 && <span className="tone-wait"> also changed {task.strayed?.join(", ")}</span>}
          </li>
        );
      })}
    </ul>
  );
}

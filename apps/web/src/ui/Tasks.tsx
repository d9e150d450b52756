// Runs that stand for one task each, on a board in the words of a list of tasks.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type TaskRun } from "../http";
import { Link } from "../router";
import { ago, headline, projectName, shortId } from "../words";
import { Empty, Loading, Trouble, useNow, Words } from "./bits";

/** Columns in the order work goes; two words share one where the work is the same. */
export const columns: [string, string[]][] = [
  ["Pending", ["pending"]], ["Clarification", ["clarification"]], ["Working", ["working", "delegated"]], ["Agent review", ["agent-review"]],
  ["Reviewing", ["reviewing"]], ["Stuck", ["stuck"]], ["Done", ["done"]], ["Cancelled", ["cancelled", "failed"]],
];
const signs: Record<string, [string, string]> = { active: ["●", "its agent works"], crashed: ["✗", "its agent crashed"], inactive: ["○", "no agent"] };

export function Tasks({ text }: { text: string }) {
  const [all, setAll] = useState(true);
  const tasks = useQuery({ queryKey: ["tasks", all], queryFn: () => api.tasks(all), refetchInterval: 5_000 });
  const now = useNow();
  if (!tasks.data) return tasks.isError ? <Trouble error={tasks.error} retry={() => void tasks.refetch()} /> : <Loading lines={8} />;
  if (tasks.data.length === 0) {
    return (
      <Empty title="No task yet">
        <p>A task is a run of the playbook <code>task</code>: one worker, one reviewing agent, and you at the end. It is merged, becomes a pull request, or goes back.</p>
        <p><Link className="button weight-yes" href="/new?playbook=task">Start one</Link></p>
        <p className="quiet">or in a terminal: <code>holdpoint task create</code></p>
      </Empty>
    );
  }
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = tasks.data.filter((task) => words.every((word) => `${task.name ?? ""} ${task.summary} ${task.branch} ${task.id}`.toLowerCase().includes(word)));
  return (
    <>
      <label className="switch tasks-all"><input type="checkbox" role="switch" checked={all} onChange={(event) => setAll(event.target.checked)} /><span>Those that are over too</span></label>
      <div className="board" tabIndex={0} role="region" aria-label="Tasks by status">
        {columns.map(([word, statuses]) => {
          const here = shown.filter((task) => statuses.includes(task.status));
          return (
            <section key={word} className="column" aria-label={word}>
              <h2>{word} <span className="quiet">{here.length}</span></h2>
              {here.map((task) => <Card key={task.id} task={task} now={now} />)}
              {here.length === 0 && <p className="quiet none">none</p>}
            </section>
          );
        })}
      </div>
    </>
  );
}

function Card({ task, now }: { task: TaskRun; now: number }) {
  const [sign, says] = signs[task.session] ?? ["○", task.session];
  return (
    <Link href={`/runs/${task.id}`} className="card">
      <span className="row-title">{task.name ? `${task.name}: ` : ""}{headline(task.summary)}</span>
      {task.waitsFor && <span className="row-sub"><Words text={task.waitsFor} /></span>}
      <span className="card-foot"><span className={task.session === "active" ? "tone-busy" : task.session === "crashed" ? "tone-bad" : "quiet"}><span aria-hidden="true">{sign}</span> {says}</span><span className="quiet">{projectName(task.project)} · {shortId(task.id)} · {ago(task.updatedAt, now)}</span></span>
      {(task.reviewRound > 0 || task.crashCount > 0) && <span className="quiet small-text">{task.reviewRound > 0 ? `review ${task.reviewRound}` : ""}{task.crashCount > 0 ? ` crashed ${task.crashCount}×` : ""}</span>}
    </Link>
  );
}

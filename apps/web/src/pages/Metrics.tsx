// How runs went: success, time, money, decisions and iterations, by week, playbook and model.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, type Figures, type Metrics, type NamedFigures } from "../http";
import { go, Link, useSearch } from "../router";
import { Chart, type Series, weekWords } from "../ui/Chart";
import { Empty, Loading, Trouble } from "../ui/bits";
import { holdNames, one, projectName, span, usd } from "../words";

const spans = [["4", "4 weeks"], ["12", "12 weeks"], ["26", "half a year"], ["52", "a year"]] as const;
const none = "–";
const time = (value: number | null | undefined) => (value === null || value === undefined ? none : value === 0 ? "0 s" : span(value));
const money = (value: number | null | undefined) => (value === null || value === undefined ? none : usd(value));
const share = (value: number | null | undefined) => (value === null || value === undefined ? none : `${Math.round(value * 100)} %`);
const times = (value: number | null | undefined) => (value === null || value === undefined ? none : `${value.toFixed(1).replace(/\.0$/, "")}×`);
const whole = (value: number | null | undefined) => String(value ?? 0);

export function MetricsPage() {
  const asked = new URLSearchParams(useSearch());
  const [weeks, project, table] = [asked.get("weeks") ?? "12", asked.get("project") ?? "", asked.get("view") === "table"];
  const [by, setBy] = useState<"playbooks" | "models">("playbooks");
  const metrics = useQuery({ queryKey: ["metrics", weeks, project], queryFn: () => api.metrics(weeks, project), placeholderData: (before) => before, refetchInterval: 30_000 });
  const projects = useQuery({ queryKey: ["projects"], queryFn: api.projects });
  const change = (what: Record<string, string>) => {
    const words = new URLSearchParams(Object.entries({ weeks, project, view: table ? "table" : "", ...what }).filter(([key, value]) => value && !(key === "weeks" && value === "12")));
    go(`/figures${words.size > 0 ? `?${words}` : ""}`, "replace");
  };
  const view = metrics.data;
  return (
    <main className="page metrics">
      <header className="page-head">
        <h1>Metrics</h1>
        {view && <span className="quiet">{one(view.total.ended, "run")} ended, {view.open} open</span>}
        <div className="filters">
          <select aria-label="Repository" value={project} onChange={(event) => change({ project: event.target.value })}>
            <option value="">All repositories</option>
            {projects.data?.map(({ path }) => <option key={path} value={path}>{projectName(path)}</option>)}
          </select>
          <select aria-label="How far back" value={weeks} onChange={(event) => change({ weeks: event.target.value })}>{spans.map(([value, words]) => <option key={value} value={value}>{words}</option>)}</select>
          <div className="segments" role="group" aria-label="View">
            <button type="button" aria-pressed={!table} onClick={() => change({ view: "" })}>Charts</button>
            <button type="button" aria-pressed={table} onClick={() => change({ view: "table" })}>Table</button>
          </div>
        </div>
      </header>
      {metrics.isError && !view && <Trouble error={metrics.error} retry={() => void metrics.refetch()} />}
      {!view && !metrics.isError && <Loading lines={10} />}
      {view && view.total.ended === 0 && (
        <Empty title="No run has ended here yet">
          <p>Once runs end, this page says how many succeed, how long they take, what a merged change costs, and how long they waited for people.</p>
          <p><Link className="button weight-yes" href="/new">Start a run</Link></p>
        </Empty>
      )}
      {view && view.total.ended > 0 && (
        <>
          <Tiles figures={view.total} />
          {table ? <Breakdown label="By week" rows={[...view.weeks].reverse()} name={weekWords} first="Week" /> : <Charts view={view} />}
          <section aria-label="Compared">
            <header className="section-head">
              <h2>Compared</h2>
              <div className="segments" role="group" aria-label="Compare by">
                <button type="button" aria-pressed={by === "playbooks"} onClick={() => setBy("playbooks")}>Playbooks</button>
                <button type="button" aria-pressed={by === "models"} onClick={() => setBy("models")}>Models</button>
              </div>
              {by === "models" && <span className="quiet">A run counts for every model it used; money is what that model cost.</span>}
            </header>
            <Breakdown label={by === "playbooks" ? "By playbook" : "By model"} rows={view[by]} name={(name) => name} first={by === "playbooks" ? "Playbook" : "Model"} />
          </section>
          <Waits view={view} />
        </>
      )}
    </main>
  );
}

function Tiles({ figures }: { figures: Figures }) {
  const tiles: [string, string, string][] = [
    ["Success", share(figures.successRate), `${figures.completed} of ${figures.ended} done`],
    ["Time to completion", time(figures.medianSeconds), `nine of ten within ${time(figures.p90Seconds)}`],
    ["Cost per run", money(figures.usdPerRun), `${usd(figures.usd)} in all`],
    ["Cost per merge", money(figures.usdPerMerged), figures.merged > 0 ? `${figures.merged} merged, and what failed` : "nothing merged yet"],
    ["Time to a decision", time(figures.decisionMedianSeconds), figures.decisions > 0 ? `${figures.decisions} decided, nine of ten within ${time(figures.decisionP90Seconds)}` : "nobody was asked"],
    ["Iterations", times(figures.iterations), `${share(figures.firstTime)} right the first time`],
  ];
  return (
    <dl className="tiles">
      {tiles.map(([name, value, more]) => <div key={name}><dt>{name}</dt><dd>{value}<small>{more}</small></dd></div>)}
    </dl>
  );
}

function Charts({ view }: { view: Metrics }) {
  const names = view.weeks.map((week) => week.name);
  const of = (name: string, look: Series["look"], pick: (figures: Figures) => number | null | undefined): Series => ({ name, look, values: view.weeks.map((week) => pick(week.figures)) });
  const { total } = view;
  return (
    <div className="charts">
      <Chart title="Runs that ended" names={names} unit="count" draw="bars" say={whole} total={`${total.completed} done, ${total.failed} failed, ${total.cancelled} cancelled`} series={[of("done", "one", (week) => week.completed), of("failed", "two", (week) => week.failed), of("cancelled", "three", (week) => week.cancelled)]} />
      <Chart title="Success rate" names={names} unit="share" draw="lines" say={share} total={`${share(total.successRate)} over all weeks`} series={[of("done", "one", (week) => week.successRate)]} />
      <Chart title="Time to completion" names={names} unit="seconds" draw="lines" say={time} total={`middle run ${time(total.medianSeconds)}`} series={[of("middle run", "one", (week) => week.medianSeconds), of("nine of ten", "two", (week) => week.p90Seconds)]} />
      <Chart title="Cost" names={names} unit="usd" draw="lines" say={money} total={`${money(total.usdPerRun)} a run, ${money(total.usdPerMerged)} a merged change`} series={[of("per run", "one", (week) => week.usdPerRun), of("per merged change", "two", (week) => week.usdPerMerged)]} />
      <Chart title="Time to a decision" names={names} unit="seconds" draw="lines" say={time} total={`middle decision after ${time(total.decisionMedianSeconds)}`} series={[of("middle decision", "one", (week) => week.decisionMedianSeconds), of("nine of ten", "two", (week) => week.decisionP90Seconds)]} />
      <Chart title="Iterations" names={names} unit="times" draw="lines" say={times} total={`${times(total.iterations)} on average; 1× is right at once`} series={[of("iterations", "one", (week) => week.iterations)]} />
    </div>
  );
}

const columns: [string, (figures: Figures) => ReactNode][] = [
  ["Ended", (of) => of.ended], ["Success", (of) => share(of.successRate)], ["Time", (of) => time(of.medianSeconds)], ["A run", (of) => money(of.usdPerRun)],
  ["Merged", (of) => of.merged], ["A merged change", (of) => money(of.usdPerMerged)], ["Decided after", (of) => time(of.decisionMedianSeconds)], ["Iterations", (of) => times(of.iterations)],
];

function Breakdown({ label, rows, name, first }: { label: string; rows: NamedFigures[]; name: (name: string) => string; first: string }) {
  const most = Math.max(1, ...rows.map((row) => row.figures.ended));
  return (
    <div className="scroll sheet" tabIndex={0} role="region" aria-label={label}>
      <table className="data">
        <thead><tr><th scope="col">{first}</th><th scope="col"><span className="sr">How they ended</span></th>{columns.map(([word]) => <th key={word} scope="col" className="right">{word}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{name(row.name)}</th>
              <td className="bar-cell"><Split figures={row.figures} most={most} /></td>
              {columns.map(([word, cell]) => <td key={word} className="right">{cell(row.figures)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Done, failed, cancelled, as long as there were many. */
function Split({ figures, most }: { figures: Figures; most: number }) {
  const scale = 120 / most;
  const parts = [["one", figures.completed], ["two", figures.failed], ["three", figures.cancelled]] as const;
  let x = 0;
  return (
    <svg width="120" height="10" role="img" aria-label={`${figures.completed} done, ${figures.failed} failed, ${figures.cancelled} cancelled`}>
      {parts.map(([look, value]) => {
        const from = x;
        x += value * scale;
        return value > 0 && <rect key={look} x={from} width={Math.max(1, value * scale - 1)} height="10" rx="2" className={`fill-${look}`} />;
      })}
    </svg>
  );
}

function Waits({ view }: { view: Metrics }) {
  if (view.holds.length === 0) return null;
  return (
    <section aria-label="What people were asked">
      <header className="section-head"><h2>What people were asked</h2><span className="quiet">pauses and spent quotas left out</span></header>
      <div className="scroll sheet" tabIndex={0} role="region" aria-label="Waits by kind">
        <table className="data">
          <thead><tr><th scope="col">Hold</th><th scope="col" className="right">Decided</th><th scope="col" className="right">Middle wait</th><th scope="col" className="right">Nine of ten within</th></tr></thead>
          <tbody>{view.holds.map((wait) => <tr key={wait.kind}><th scope="row">{holdNames[wait.kind] ?? wait.kind}</th><td className="right">{wait.decisions}</td><td className="right">{time(wait.medianSeconds)}</td><td className="right">{time(wait.p90Seconds)}</td></tr>)}</tbody>
        </table>
      </div>
    </section>
  );
}

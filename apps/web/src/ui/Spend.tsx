// Money over time, and every call.
import { useMemo } from "react";
import { ticks } from "../chart";
import { useOfRun } from "../data";
import { api, type Run, type SpendCall } from "../http";
import { count, one, usd } from "../words";
import { Loading, Time, Trouble } from "./bits";

export function Spend({ run }: { run: Run }) {
  const calls = useOfRun(run.id, "spend", () => api.spend(run.id));
  if (!calls.data) return calls.isError ? <Trouble error={calls.error} /> : <Loading />;
  if (calls.data.length === 0) return <p className="quiet">No model was called yet.</p>;
  const { spend } = run;
  return (
    <section aria-label="Spend">
      <dl className="figures">
        <div><dt>Spent</dt><dd>{usd(spend.usd)}</dd></div>
        <div><dt>Limit</dt><dd>{spend.limitUsd ? usd(spend.limitUsd) : "none"}</dd></div>
        <div><dt>Estimate at the start</dt><dd>{spend.estimateUsd ? usd(spend.estimateUsd) : "none"}</dd></div>
        <div><dt>Tokens in, out</dt><dd>{count(spend.inputTokens)}, {count(spend.outputTokens)}</dd></div>
        <div><dt>Calls</dt><dd>{spend.calls}{spend.unpricedCalls ? ` (${one(spend.unpricedCalls, "without a price", "without a price")})` : ""}</dd></div>
      </dl>
      <Curve calls={calls.data} limit={spend.limitUsd ?? undefined} estimate={spend.estimateUsd ?? undefined} />
      <div className="scroll" tabIndex={0} role="region" aria-label="Model calls">
        <table className="data">
          <thead><tr><th>When</th><th>Stage</th><th>Model</th><th className="right">In</th><th className="right">Out</th><th className="right">Cost</th></tr></thead>
          <tbody>
            {calls.data.map((call, at) => (
              <tr key={at}><td><Time at={call.at} /></td><td>{call.stage}</td><td>{call.model}{call.reportedBy ? ` (reported by ${call.reportedBy})` : ""}</td><td className="right">{count(call.inputTokens)}</td><td className="right">{count(call.outputTokens)}</td><td className="right">{usd(call.usd)}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The sum after each call, by call: waiting costs nothing and is left out. Stages alternate in the ground below. */
function Curve({ calls, limit, estimate }: { calls: SpendCall[]; limit: number | undefined; estimate: number | undefined }) {
  const points = useMemo(() => {
    let sum = 0;
    return calls.map((call) => (sum += call.usd ?? 0));
  }, [calls]);
  const spent = points.at(-1) ?? 0;
  const near = [limit, estimate].filter((mark): mark is number => mark !== undefined && mark > 0 && mark < spent * 4);
  const marks = ticks(Math.max(spent, ...near, 0.000_001), "usd", 4);
  const most = marks.at(-1) ?? 1;
  const x = (at: number) => 62 + (at / Math.max(1, points.length)) * 828;
  const y = (value: number) => 150 - (value / most) * 130;
  const path = points.map((value, at) => `L${x(at)} ${y(value)}L${x(at + 1)} ${y(value)}`).join("");
  const stages = calls.reduce<{ stage: string; from: number; to: number }[]>((parts, call, at) => {
    const last = parts.at(-1);
    if (last?.stage === call.stage) last.to = at + 1;
    else parts.push({ stage: call.stage, from: at, to: at + 1 });
    return parts;
  }, []);
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Spend over time">
      <svg className="curve" viewBox="0 0 900 178" role="img" aria-label={`Spend rises to ${usd(spent)} over ${one(calls.length, "call")}: ${stages.map((part) => part.stage).join(", then ")}`}>
        {stages.map((part, at) => <g key={at}><rect x={x(part.from)} width={x(part.to) - x(part.from)} y="16" height="134" className={at % 2 ? "ground odd" : "ground"} />{x(part.to) - x(part.from) > part.stage.length * 6 && <text x={(x(part.from) + x(part.to)) / 2} y="168" textAnchor="middle">{part.stage}</text>}</g>)}
        {marks.map((mark) => <g key={mark}><line x1="62" x2="890" y1={y(mark)} y2={y(mark)} className="grid" /><text x="54" y={y(mark)} dy="0.35em" textAnchor="end">{usd(mark)}</text></g>)}
        <path d={`M${x(0)} ${y(0)}${path}L${x(points.length)} ${y(0)}Z`} className="area" />
        <path d={`M${x(0)} ${y(0)}${path}`} className="sum" />
        {limit !== undefined && near.includes(limit) && <g><line x1="62" x2="890" y1={y(limit)} y2={y(limit)} className="limit" /><text x="888" y={y(limit) - 5} textAnchor="end" className="limit-word">limit</text></g>}
        {estimate !== undefined && near.includes(estimate) && <g><line x1="62" x2="890" y1={y(estimate)} y2={y(estimate)} className="estimate-line" /><text x="888" y={y(estimate) - 5} textAnchor="end">estimate</text></g>}
      </svg>
    </div>
  );
}

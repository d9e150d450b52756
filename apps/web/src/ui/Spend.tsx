// Money over time, and every call.
import { useMemo } from "react";
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
      <Curve calls={calls.data} />
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

/** The sum after each call, by call: waiting costs nothing and is left out. */
function Curve({ calls }: { calls: SpendCall[] }) {
  const points = useMemo(() => {
    let sum = 0;
    return calls.map((call) => (sum += call.usd ?? 0));
  }, [calls]);
  const most = Math.max(points.at(-1) ?? 0, 0.000001);
  const x = (at: number) => 50 + (at / Math.max(1, points.length)) * 640;
  const y = (value: number) => 120 - (value / most) * 100;
  const path = points.map((value, at) => `L${x(at)} ${y(value)}L${x(at + 1)} ${y(value)}`).join("");
  return (
    <svg className="curve" viewBox="0 0 700 140" role="img" aria-label={`Spend rises to ${usd(points.at(-1))} over ${calls.length} calls`}>
      {[0, 0.5, 1].map((part) => <g key={part}><line x1="50" x2="690" y1={y(most * part)} y2={y(most * part)} className="grid" /><text x="44" y={y(most * part)} dy="0.35em" textAnchor="end">{usd(most * part)}</text></g>)}
      <path d={`M${x(0)} ${y(0)}${path}L${x(points.length)} ${y(0)}Z`} className="area" />
      <path d={`M${x(0)} ${y(0)}${path}`} className="sum" />
    </svg>
  );
}

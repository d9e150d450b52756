// What a run made, every version of it.
import { useState } from "react";
import { useOfRun } from "../data";
import { api, type Run } from "../http";
import { DiffView, Versions } from "./DiffView";
import { Content } from "./Evidence";
import { Loading, Time, Trouble, Words } from "./bits";

const names: Record<string, string> = { spec: "Plan", plan: "Tasks", code: "Code", validation_report: "Validation" };

export function Artifacts({ run }: { run: Run }) {
  const [chosen, setChosen] = useState(run.artifacts.length);
  const number = Math.min(chosen, run.artifacts.length);
  const artifact = run.artifacts[number - 1];
  const content = useOfRun(run.id, `artifact-${number}`, () => api.artifact(run.id, number), number > 0);
  const older = run.artifacts.findLastIndex((made, at) => at < number - 1 && made.type === artifact?.type && made.type !== "code") + 1;
  const [compare, setCompare] = useState(false);
  const before = useOfRun(run.id, `artifact-${older}`, () => api.artifact(run.id, older), older > 0 && compare);
  if (!artifact) return <p className="quiet">Nothing has been made yet. The plan comes first.</p>;
  return (
    <section className="artifacts" aria-label="Artifacts">
      <h2 className="sr">Artifacts</h2>
      <div className="session-list" role="group" aria-label="Versions">
        {run.artifacts.map((made, at) => (
          <button key={at} type="button" aria-pressed={at + 1 === number} onClick={() => setChosen(at + 1)}>
            {names[made.type] ?? made.type} <span className="quiet">v{made.version} · {made.commit.slice(0, 7)}</span>
          </button>
        ))}
      </div>
      <header className="section-head"><h3><Words text={artifact.title} /></h3><span className="quiet">{artifact.stage} · <Time at={artifact.createdAt} />{artifact.path ? ` · ${artifact.path}` : ""}</span></header>
      {older > 0 && <label className="switch"><input type="checkbox" role="switch" checked={compare} onChange={(event) => setCompare(event.target.checked)} /><span>Show what changed since version {run.artifacts[older - 1]?.version}</span></label>}
      {content.isPending && <Loading lines={8} />}
      {content.isError && <Trouble error={content.error} retry={() => void content.refetch()} />}
      {content.data && (compare && older > 0 && before.data ? <Versions before={before.data.content} after={content.data.content} name={artifact.path ?? artifact.title} /> : artifact.type === "code" ? <DiffView diff={content.data.content} /> : <Content kind={artifact.type} content={content.data.content} drawings={content.data.drawings} title={artifact.title} />)}
    </section>
  );
}

// What a run made, every version of it.
import { useState } from "react";
import { useOfRun } from "../data";
import { api, type Run } from "../http";
import { Versions } from "./DiffView";
import { Code, Content, isCode } from "./Evidence";
import { Loading, Time, Trouble, Words } from "./bits";

const names: Record<string, string> = { spec: "Plan", plan: "Tasks", code: "Code", validation_report: "Validation" };

export function Artifacts({ run }: { run: Run }) {
  const [chosen, setChosen] = useState(run.artifacts.length);
  const number = Math.min(chosen, run.artifacts.length);
  const artifact = run.artifacts[number - 1];
  const content = useOfRun(run.id, `artifact-${number}`, () => api.artifact(run.id, number), number > 0);
  const versions = run.artifacts.flatMap((made, at) => (made.type === artifact?.type && !isCode(made.type) && at + 1 !== number ? [[at + 1, made.version] as const] : []));
  const [against, setAgainst] = useState(0);
  const older = versions.some(([at]) => at === against) ? against : 0;
  const before = useOfRun(run.id, `artifact-${older}`, () => api.artifact(run.id, older), older > 0);
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
      {versions.length > 0 && <label className="inline against">Compare with <select value={older} onChange={(event) => setAgainst(Number(event.target.value))}><option value={0}>no other version</option>{versions.map(([at, version]) => <option key={at} value={at}>version {version}</option>)}</select></label>}
      {content.isPending && <Loading lines={8} />}
      {content.isError && <Trouble error={content.error} retry={() => void content.refetch()} />}
      {content.data && (older > 0 && before.data ? <Versions {...(older < number ? { before: before.data.content, after: content.data.content } : { before: content.data.content, after: before.data.content })} name={artifact.path ?? artifact.title} /> : isCode(artifact.type) ? <Code run={run.id} number={number} note={content.data.note} /> : <Content kind={artifact.type} content={content.data.content} drawings={content.data.drawings} title={artifact.title} />)}
    </section>
  );
}

// Runs side by side: what each plans, changes, proves and costs; one of them is adopted, the others end.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, useIsAdmin, useOfRun, useRun } from "../data";
import { api, type Compared, type CompareView, Refused } from "../http";
import { go, Link, useSearch } from "../router";
import { ChangeView, Totals, useChange } from "../ui/ChangeView";
import { Content } from "../ui/Evidence";
import { say } from "../ui/Toasts";
import { Badge, Empty, Loading, Marked, Status, Trouble, Words } from "../ui/bits";
import { count, shortId, span, usd } from "../words";

const over = (run: Compared) => ["completed", "failed", "cancelled"].includes(run.status);
const mayAdopt = (run: Compared) => run.hold?.kind === "review" && run.hold.allowed.includes("approve");

export function Compare() {
  const asked = new URLSearchParams(useSearch());
  const [wanted, part] = [asked.get("runs") ?? "", asked.get("show") ?? "facts"];
  const compared = useQuery({ queryKey: ["compare", wanted], queryFn: () => api.compare(wanted), enabled: wanted !== "", refetchInterval: 5_000 });
  const show = (what: string) => go(`/compare?runs=${encodeURIComponent(wanted)}${what === "facts" ? "" : `&show=${what}`}`, "replace");
  const view = compared.data;
  const ways = view?.runs.every((run) => run.index !== null && run.index !== undefined) ?? false;
  return (
    <main className="page compare">
      <header className="page-head">
        <h1>Compare</h1>
        {view && <span className="quiet">{view.runs.length} {ways ? "ways to one end" : "runs"}, {view.common.length === 0 ? "no file changed by all" : `${view.common.length} ${view.common.length === 1 ? "file" : "files"} changed by all`}</span>}
        {view && (
          <div className="filters">
            <div className="segments" role="group" aria-label="Show">
              {[["facts", "Facts"], ["plans", "Plans"], ["changes", "Changes"]].map(([name = "", word]) => <button key={name} type="button" aria-pressed={part === name} onClick={() => show(name)}>{word}</button>)}
            </div>
          </div>
        )}
      </header>
      {wanted === "" && (
        <Empty title="Nothing to compare yet">
          <p>Mark two or more runs in the list and choose <em>Compare</em>, or start one request in several ways: <em>New run</em>, Variants.</p>
          <p><Link className="button weight-plain" href="/runs">To the runs</Link> <Link className="button weight-yes" href="/new">New run</Link></p>
        </Empty>
      )}
      {compared.isError && !view && <Trouble error={compared.error} retry={() => void compared.refetch()} />}
      {wanted !== "" && !view && !compared.isError && <Loading lines={10} />}
      {view && part === "facts" && <Facts view={view} />}
      {view && part !== "facts" && (
        <div className="beside" tabIndex={0} role="region" aria-label={part === "plans" ? "Plans side by side" : "Changes side by side"}>
          {view.runs.map((run) => (
            <section key={run.id} aria-label={name(run)}>
              <header className="beside-head"><h2><Link href={`/runs/${run.id}`}>{name(run)}</Link></h2> <Status status={run.status} /></header>
              {part === "plans" ? <Plan run={run} /> : <Changed run={run} />}
            </section>
          ))}
        </div>
      )}
    </main>
  );
}

const name = (run: Compared) => (run.index ? `Way ${run.index} · ${shortId(run.id)}` : shortId(run.id));

function Facts({ view }: { view: CompareView }) {
  const least = (pick: (run: Compared) => number) => Math.min(...view.runs.map(pick));
  const best = (run: Compared, pick: (run: Compared) => number) => view.runs.length > 1 && pick(run) === least(pick) && view.runs.some((other) => pick(other) !== pick(run));
  const common = new Set(view.common);
  const shared = (run: Compared, file: string) => view.pairs.some((pair) => (pair.first === run.id || pair.second === run.id) && pair.files.includes(file));
  const rows: [string, (run: Compared) => React.ReactNode][] = [
    ["Asked", (run) => <span className="clamp"><Marked text={run.request} /></span>],
    ["Plan", (run) => run.plan ? <><Words text={run.plan} />{run.tasks > 0 && <span className="quiet"> · {run.tasks} tasks</span>}</> : <span className="quiet">none yet</span>],
    ["Checks", (run) => run.checksPassed + run.checksFailed === 0 ? <span className="quiet">none ran</span> : <span className={run.checksFailed > 0 ? "tone-bad" : "tone-good"}>{run.checksFailed > 0 ? `✗ ${run.checksFailed} failed` : `✓ ${run.checksPassed} passed`}</span>],
    ["Verdict", (run) => run.verdict ? <><Badge tone={run.verdict === "pass" ? "good" : "bad"}>{run.verdict}</Badge> {run.review && <Words text={run.review} />}</> : <span className="quiet">none yet</span>],
    ["Change", (run) => <><span className="plus">+{run.added}</span> <span className="minus">−{run.deleted}</span> <span className="quiet">in {run.files.length} {run.files.length === 1 ? "file" : "files"}</span></>],
    ["Files", (run) => (
      <ul className="file-list">{run.files.map((file) => <li key={file}><code>{file}</code>{common.has(file) ? <span className="quiet"> all</span> : shared(run, file) ? <span className="quiet"> shared</span> : <span className="tone-busy"> only here</span>}</li>)}</ul>
    )],
    ["Cost", (run) => <>{usd(run.usd)}{best(run, (one) => one.usd) && <span className="best"> least</span>} <span className="quiet">{count(run.inputTokens + run.outputTokens)} tokens</span></>],
    ["Time", (run) => <>{span(run.seconds)}{best(run, (one) => one.seconds) && <span className="best"> least</span>}</>],
  ];
  return (
    <div className="scroll sheet" tabIndex={0} role="region" aria-label="Runs side by side">
      <table className="data side">
        <thead><tr><td />{view.runs.map((run) => <th key={run.id} scope="col"><Link href={`/runs/${run.id}`}>{name(run)}</Link> <Status status={run.status} /></th>)}</tr></thead>
        <tbody>
          {rows.map(([word, cell]) => <tr key={word}><th scope="row">{word}</th>{view.runs.map((run) => <td key={run.id}>{cell(run)}</td>)}</tr>)}
          <tr><th scope="row">Adopt</th>{view.runs.map((run) => <td key={run.id}><Adopt run={run} others={view.runs.filter((other) => other.id !== run.id && !over(other))} /></td>)}</tr>
        </tbody>
      </table>
    </div>
  );
}

/** Only when the yes was taken are the others given up. */
function Adopt({ run, others }: { run: Compared; others: Compared[] }) {
  const may = useIsAdmin();
  const [sure, setSure] = useState(false);
  const change = useChange(run.id, "branch", sure);
  const adopt = useMutation({
    mutationFn: async () => {
      await api.approve(run.id, run.hold?.digest ?? "");
      const kept: string[] = [];
      for (const other of others) {
        try {
          await api.cancel(other.id, `run ${shortId(run.id)} was adopted instead`);
        } catch (error) {
          if (!(error instanceof Refused) || error.problem.code !== "already_ended") kept.push(shortId(other.id));
        }
      }
      return kept;
    },
    onSuccess: (kept) => {
      if (kept.length === 0) say(`\`${shortId(run.id)}\` is adopted`);
      else say(`\`${shortId(run.id)}\` is adopted, but ${kept.join(", ")} could not be ended`, "bad", "end them on their own pages");
      setSure(false);
    },
    onSettled: () => void client.invalidateQueries({ queryKey: ["compare"] }),
  });
  if (!mayAdopt(run)) return <span className="quiet">{over(run) ? "it is over" : run.hold ? "waits for something else" : "still at work"}</span>;
  if (!may) return <span className="quiet">takes an admin</span>;
  return (
    <div className="adopt">
      {!sure && <button type="button" className="weight-yes" onClick={() => setSure(true)}>Adopt…</button>}
      {sure && (
        <>
          <p>{others.length > 0 ? `Approves this one as shown and ends ${others.map((other) => shortId(other.id)).join(", ")}.` : "Approves this one as shown."}</p>
          <What run={run.id} />
          <div className="buttons"><button type="button" className="weight-yes" disabled={adopt.isPending || !change.isSuccess} onClick={() => adopt.mutate()}>{adopt.isPending ? "sending…" : "Adopt it"}</button><button type="button" className="weight-plain" onClick={() => setSure(false)}>Back</button></div>
        </>
      )}
      {adopt.isError && <Trouble error={adopt.error} />}
    </div>
  );
}

/** Every file that is adopted, by name and with true counts. */
function What({ run }: { run: string }) {
  const change = useChange(run, "branch");
  if (!change.data) return change.isError ? <Trouble error={change.error} retry={() => void change.refetch()} /> : <Loading lines={3} />;
  return (
    <div className="file-list">
      <p><Totals total={change.data.total} /></p>
      <ul>{change.data.files.map((file) => <li key={file.id}><Marked text={file.path} /> {file.added === undefined || file.added === null ? <span className="quiet">binary</span> : <><span className="plus">+{file.added}</span> <span className="minus">−{file.deleted}</span></>}</li>)}</ul>
    </div>
  );
}

function Plan({ run }: { run: Compared }) {
  const whole = useRun(run.id);
  const number = (whole.data?.artifacts.findLastIndex((made) => made.type === "spec" || made.type === "plan") ?? -1) + 1;
  const plan = useOfRun(run.id, `artifact-${number}`, () => api.artifact(run.id, number), number > 0);
  if (!whole.data || (number > 0 && plan.isPending)) return <Loading lines={6} />;
  if (number === 0) return <p className="quiet">No plan yet.</p>;
  if (!plan.data) return <Trouble error={plan.error} retry={() => void plan.refetch()} />;
  return <Content kind={plan.data.artifact.type} content={plan.data.content} drawings={plan.data.drawings} title="" />;
}

function Changed({ run }: { run: Compared }) {
  return <ChangeView run={run.id} of="branch" narrow />;
}

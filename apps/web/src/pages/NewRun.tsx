// A new run: what, where, how far it is trusted, who works and what it may cost.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { client, useRuns } from "../data";
import { api, freshKey, type NewRun, type Playbook, Refused } from "../http";
import { go } from "../router";
import { say } from "../ui/Toasts";
import { Trouble, Words } from "../ui/bits";
import { shortId, usd } from "../words";

const gates: [string, string, string][] = [
  ["planning", "Plan", "You approve the plan before anything is written"],
  ["implementation", "Code", "You approve the code before it is validated"],
  ["fixes", "Fixes", "You decide what happens when a check fails"],
];

export function NewRunPage() {
  const { runs } = useRuns();
  const projects = useMemo(() => [...new Set(runs?.map((run) => run.project))].slice(0, 20), [runs]);
  const [request, setRequest] = useState("");
  const [typed, setProject] = useState<string>();
  const project = typed ?? projects[0] ?? "";
  const [playbook, setPlaybook] = useState("autonomous");
  const [manual, setManual] = useState<Record<string, boolean>>({ planning: true });
  const [models, setModels] = useState<Record<string, string>>({});
  const [budget, setBudget] = useState("");
  const [merge, setMerge] = useState(false);
  const [priority, setPriority] = useState("normal");
  const place = useDeferredValue(project);
  const isPath = place.startsWith("/");
  const playbooks = useQuery({ queryKey: ["playbooks", place], queryFn: () => api.playbooks(isPath ? place : undefined), retry: false, placeholderData: (before) => before });
  const builtIn = useQuery({ queryKey: ["playbooks"], queryFn: () => api.playbooks() });
  const offered = (playbooks.data ?? builtIn.data ?? []).filter((one) => one.name !== "subtask" && !(one.problems ?? []).some((problem) => problem.weight === "error"));
  const book = offered.find((one) => one.name === playbook);
  const switches = gates.filter(([name]) => book?.steps?.some((step) => step.gate === `trust.${name}` || step.loops.includes(`trust.${name}`)));
  const wish: NewRun = {
    project, request, playbook, priority,
    trust: Object.fromEntries(gates.map(([name]) => [name, manual[name] ? "manual" : "auto"])),
    models: Object.fromEntries(Object.entries(models).filter(([, model]) => model)),
    autoMerge: merge,
    ...(Number(budget) > 0 && { budgetUsd: Number(budget) }),
  };
  const key = useRef(freshKey());
  const start = useMutation({
    mutationFn: () => api.start(wish, key.current),
    onSuccess: (run) => {
      client.setQueryData(["run", run.id], run);
      say(`\`${shortId(run.id)}\` started`);
      go(`/runs/${run.id}`);
    },
    // A changed wish is another one; an answer that got lost is asked for again under the same name.
    onError: (error) => {
      if (error instanceof Refused && error.status !== 0) key.current = freshKey();
    },
  });
  const field = start.error instanceof Refused ? start.error.problem.field : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!start.isPending) start.mutate();
  };
  return (
    <main className="page new">
      <header className="page-head"><h1>New run</h1></header>
      <form onSubmit={submit} className="new-form">
        <label className="wide">
          What shall be done?
          <textarea rows={5} autoFocus required value={request} onChange={(event) => setRequest(event.target.value)} placeholder="Let people search their notes: GET /notes?q=word gives only the notes that contain the word" aria-invalid={field === "request"} />
        </label>
        <label className="wide">
          Repository
          <input list="projects" required value={project} onChange={(event) => setProject(event.target.value)} placeholder="/home/ada/pinboard" aria-invalid={field === "project"} className="mono" spellCheck={false} />
          <datalist id="projects">{projects.map((one) => <option key={one} value={one} />)}</datalist>
          <small className="quiet">An absolute path on the server's machine. Your checkout is never touched; the work is done on a branch of its own.</small>
        </label>
        {playbooks.isError && isPath && <Trouble error={playbooks.error} />}
        <fieldset className="wide playbooks">
          <legend>Playbook</legend>
          <div className="cards">
            {offered.map((one) => (
              <label key={one.name} className={one.name === playbook ? "choice picked" : "choice"}>
                <input type="radio" name="playbook" checked={one.name === playbook} onChange={() => setPlaybook(one.name)} />
                <strong>{one.name}</strong><span className="quiet">{one.description}</span>
              </label>
            ))}
          </div>
          {book && <Steps book={book} manual={manual} />}
        </fieldset>
        {switches.length > 0 && (
          <fieldset>
            <legend>Where do you want a say?</legend>
            {switches.map(([name, word, what]) => (
              <label key={name} className="switch">
                <input type="checkbox" role="switch" checked={manual[name] ?? false} onChange={(event) => setManual({ ...manual, [name]: event.target.checked })} />
                <span><strong>{word}</strong> <span className="quiet">{manual[name] ? what : "Goes on by itself"}</span></span>
              </label>
            ))}
            <small className="quiet">Protected files, destructive commands and spend always wait for you.</small>
          </fieldset>
        )}
        <fieldset>
          <legend>Models</legend>
          <Roles roles={book?.roles ?? []} models={models} choose={setModels} />
        </fieldset>
        <fieldset>
          <legend>Money and ending</legend>
          <label className="inline">May spend, in dollars <input type="number" min="0.01" step="0.01" value={budget} onChange={(event) => setBudget(event.target.value)} placeholder="no limit" aria-invalid={field === "budgetUsd"} /></label>
          <label className="inline">Priority <select value={priority} onChange={(event) => setPriority(event.target.value)}><option>low</option><option>normal</option><option>high</option></select></label>
          <label className="switch"><input type="checkbox" role="switch" checked={merge} onChange={(event) => setMerge(event.target.checked)} /><span><strong>Merge</strong> <span className="quiet">{merge ? "Squash-merged into the base when every gate passed" : "Stays on its branch"}</span></span></label>
        </fieldset>
        <Estimated wish={wish}>
          {start.isError && <Trouble error={start.error} />}
          <button type="submit" className="weight-yes" disabled={start.isPending || !request.trim() || !project}>{start.isPending ? "starting…" : "Start the run"}</button>
        </Estimated>
      </form>
    </main>
  );
}

function Steps({ book, manual }: { book: Playbook; manual: Record<string, boolean> }) {
  return (
    <ol className="steps">
      {(book.steps ?? []).map((step) => {
        const gate = step.gate.startsWith("trust.") ? (manual[step.gate.slice(6)] ? "you approve" : "goes on") : { manual: "you approve", review: "you review", auto: "goes on" }[step.gate] ?? step.gate;
        return (
          <li key={step.name} className={gate.startsWith("you") ? "stops" : ""}>
            <strong>{step.name}</strong><span className="quiet">{step.work}</span><span className="gate">{gate.startsWith("you") ? "✋ " : "→ "}{gate}</span>
          </li>
        );
      })}
    </ol>
  );
}

function Roles({ roles, models, choose }: { roles: string[]; models: Record<string, string>; choose: (models: Record<string, string>) => void }) {
  const known = useQuery({ queryKey: ["models"], queryFn: api.models });
  if (known.isError) return <Trouble error={known.error} />;
  const names = known.data?.providers.filter((one) => one.setUp).flatMap((one) => one.models.map((model) => model.name)).filter((name) => !name.endsWith("*")) ?? [];
  const usual = (role: string) => known.data?.roles.find((one) => one.role === role)?.models[0];
  return (
    <>
      <datalist id="models">{names.map((name) => <option key={name} value={name} />)}</datalist>
      {roles.map((role) => (
        <label key={role} className="inline">{role} <input list="models" className="mono" spellCheck={false} value={models[role] ?? ""} placeholder={usual(role) ?? "provider/model"} onChange={(event) => choose({ ...models, [role]: event.target.value })} /></label>
      ))}
      {known.data && names.length === 0 && <p className="quiet">No provider is set up. Set a key such as ANTHROPIC_API_KEY for the server, and look with <code>holdpoint model list</code>.</p>}
    </>
  );
}

function Estimated({ wish, children }: { wish: NewRun; children: ReactNode }) {
  const [asked, setAsked] = useState<NewRun>();
  const text = JSON.stringify(wish);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(wish.request.trim() && wish.project.startsWith("/") ? (JSON.parse(text) as NewRun) : undefined), 500);
    return () => clearTimeout(timer);
  }, [text, wish.request, wish.project]);
  const estimate = useQuery({ queryKey: ["estimate", asked], queryFn: () => api.estimate(asked as NewRun), enabled: asked !== undefined, retry: false, placeholderData: (before) => before });
  return (
    <aside className="estimate" aria-label="Estimate">
      <h2>Estimate</h2>
      {!asked && <p className="quiet">Say what shall be done and where, and this says what it will probably cost.</p>}
      {asked && estimate.isPending && <p className="quiet">asking…</p>}
      {asked && estimate.isError && <Trouble error={estimate.error} />}
      {asked && estimate.data && (
        <>
          <p><strong>{estimate.data.likelyUsd !== undefined && estimate.data.likelyUsd !== null ? `about ${usd(estimate.data.likelyUsd)}` : "not known"}</strong>{estimate.data.highUsd ? `, perhaps ${usd(estimate.data.highUsd)}` : ""} <span className="quiet">{estimate.data.basis}</span></p>
          {(estimate.data.warnings ?? []).map((warning) => <p key={warning} className="warning"><Words text={warning} /></p>)}
        </>
      )}
      {children}
    </aside>
  );
}

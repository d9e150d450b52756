// A new run: what, where, how far it is trusted, who works and what it may cost.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useDeferredValue, useEffect, useRef, useState } from "react";
import { client, useProjects } from "../data";
import { api, freshKey, type NewRun, type Playbook, Refused } from "../http";
import { go } from "../router";
import { Diagram } from "../ui/Diagram";
import { say } from "../ui/Toasts";
import { Trouble, Words } from "../ui/bits";
import { shortId, usd } from "../words";

const gates: [string, string, string][] = [
  ["planning", "Plan", "You approve the plan before anything is written"],
  ["implementation", "Code", "You approve the code before it is validated"],
  ["fixes", "Fixes", "You decide what happens when a check fails"],
];

type Ending = "branch" | "review" | "merge" | "pull";
const endings: [Ending, string, string][] = [
  ["branch", "stays on its branch", "The branch is in your repository; nothing else is touched."],
  ["review", "waits for your review", "You look at the finished work, then merge it, open a pull request or send it back."],
  ["merge", "is merged", "Squash-merged into the base when every gate passed for exactly that commit."],
  ["pull", "becomes a pull request", "Pushed and opened on the forge when every gate passed."],
];
type Strangers = { source: string; kind: string; text: string };
const said = (words: Record<string, string>) => Object.fromEntries(Object.entries(words).filter(([, word]) => word.trim()));
const agents = ["own", "claude", "codex", "codex-exec", "gemini", "opencode", "acp:", "command:"];

export function NewRunPage() {
  const projects = useProjects();
  const [request, setRequest] = useState("");
  const [typed, setProject] = useState<string>();
  const project = typed ?? projects[0] ?? "";
  const [playbook, setPlaybook] = useState(() => new URLSearchParams(location.search).get("playbook") ?? "autonomous");
  const [manual, setManual] = useState<Record<string, boolean>>({ planning: true });
  const [models, setModels] = useState<Record<string, string>>({});
  const [budget, setBudget] = useState("");
  const [programs, setPrograms] = useState<Record<string, string>>({});
  const [ending, setEnding] = useState<Ending>("branch");
  const [ways, setWays] = useState("1");
  const [approaches, setApproaches] = useState("");
  const [strangers, setStrangers] = useState<Strangers>();
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
    models: said(models), programs: said(programs),
    autoMerge: ending === "merge",
    ...(ending === "pull" && { createPr: true }),
    ...(ending === "review" && { review: true }),
    ...(Number(budget) > 0 && { budgetUsd: Number(budget) }),
    ...(strangers?.source.trim() && { from: [{ source: strangers.source.trim(), ...(strangers.kind && { kind: strangers.kind }), ...(strangers.text.trim() && { text: strangers.text }) }] }),
  };
  const words = approaches.split("\n").map((line) => line.trim()).filter(Boolean);
  const count = Math.max(Number(ways) || 1, words.length);
  const key = useRef(freshKey());
  const start = useMutation({
    mutationFn: async () => {
      if (count < 2) return [await api.start(wish, key.current)];
      const { items } = await api.variants(wish, count, words, key.current);
      const refused = items.find((item) => item.problem)?.problem;
      if (refused && items.every((item) => !item.run)) throw new Refused(400, refused);
      if (refused) say(refused.message, "bad", refused.hint);
      return items.flatMap((item) => (item.run ? [{ id: item.run }] : []));
    },
    onSuccess: (runs) => {
      const [first] = runs;
      if (!first) return;
      if ("version" in first) client.setQueryData(["run", first.id], first);
      say(runs.length > 1 ? `${runs.length} ways started` : `\`${shortId(first.id)}\` started`);
      go(runs.length > 1 ? `/compare?runs=${runs.map((run) => run.id).join(",")}` : `/runs/${first.id}`);
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
          {book?.diagram && <details className="as-list"><summary>The whole way, with its loops</summary><Diagram source={book.diagram} /></details>}
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
          <legend>Models and agents</legend>
          <Roles roles={book?.roles ?? []} models={models} choose={setModels} programs={programs} give={setPrograms} />
        </fieldset>
        <fieldset>
          <legend>Money and ending</legend>
          <label className="inline">May spend, in dollars <input type="number" min="0.01" step="0.01" value={budget} onChange={(event) => setBudget(event.target.value)} placeholder="no limit" aria-invalid={field === "budgetUsd"} /></label>
          <label className="inline">Priority <select value={priority} onChange={(event) => setPriority(event.target.value)}><option>low</option><option>normal</option><option>high</option></select></label>
          <label className="inline">In the end <select value={count > 1 ? "review" : ending} disabled={count > 1} onChange={(event) => setEnding(event.target.value as Ending)}>{endings.map(([name, text]) => <option key={name} value={name}>{text}</option>)}</select></label>
          <small className="quiet">{count > 1 ? "Of several ways a person adopts one." : endings.find(([name]) => name === ending)?.[2]}</small>
        </fieldset>
        <fieldset>
          <legend>Several ways at once</legend>
          <label className="inline">Variants <input type="number" min="1" max="20" value={ways} onChange={(event) => setWays(event.target.value)} /></label>
          {count > 1 && <label>What is particular about each (one per line, optional)<textarea rows={3} value={approaches} onChange={(event) => setApproaches(event.target.value)} placeholder={"an index in memory\nfull-text search of the database"} /></label>}
          <small className="quiet">{count > 1 ? `${count} runs try it, each at its own cost; they are compared and one is adopted.` : "One run. With more, agents try different designs and you adopt one."}</small>
        </fieldset>
        <fieldset className="wide">
          <legend>Text of strangers</legend>
          {!strangers && <button type="button" className="weight-plain small" onClick={() => setStrangers({ source: "", kind: "", text: "" })}>This request comes from an issue, a comment or a page…</button>}
          {strangers && (
            <div className="strangers-form">
              <label>Where from<input value={strangers.source} autoFocus onChange={(event) => setStrangers({ ...strangers, source: event.target.value })} placeholder="https://github.com/acme/pinboard/issues/7" aria-invalid={field === "from"} /></label>
              <label>Kind<select value={strangers.kind} onChange={(event) => setStrangers({ ...strangers, kind: event.target.value })}><option value="">told from the address</option><option>issue</option><option>comment</option><option>page</option><option>other</option></select></label>
              <label className="text">The text itself, where it is not the request<textarea rows={3} value={strangers.text} onChange={(event) => setStrangers({ ...strangers, text: event.target.value })} /></label>
              <small className="quiet">Its agents reach nothing but their models, get no secrets, and a person looks before the work goes anywhere.</small>
              <button type="button" className="weight-plain small" onClick={() => setStrangers(undefined)}>It is all my own</button>
            </div>
          )}
        </fieldset>
        <Estimated wish={wish} ways={count}>
          {start.isError && <Trouble error={start.error} />}
          <button type="submit" className="weight-yes" disabled={start.isPending || !request.trim() || !project}>{start.isPending ? "starting…" : count > 1 ? `Start ${count} runs` : "Start the run"}</button>
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
            <strong>{step.name}</strong><span className="quiet">{step.work}</span><span className="gate">{gate.startsWith("you") ? "■ " : "→ "}{gate}</span>
          </li>
        );
      })}
    </ol>
  );
}

type RolesProps = { roles: string[]; models: Record<string, string>; choose: (models: Record<string, string>) => void; programs: Record<string, string>; give: (programs: Record<string, string>) => void };

function Roles({ roles, models, choose, programs, give }: RolesProps) {
  const known = useQuery({ queryKey: ["models"], queryFn: api.models });
  if (known.isError) return <Trouble error={known.error} />;
  const names = known.data?.providers.filter((one) => one.setUp).flatMap((one) => one.models.map((model) => model.name)).filter((name) => !name.endsWith("*")) ?? [];
  const usual = (role: string) => known.data?.roles.find((one) => one.role === role);
  return (
    <div className="roles">
      <datalist id="models">{names.map((name) => <option key={name} value={name} />)}</datalist>
      <datalist id="agents">{agents.map((name) => <option key={name} value={name} />)}</datalist>
      {roles.map((role) => (
        <div key={role} className="role" role="group" aria-label={role}>
          <span>{role}</span>
          <input list="models" aria-label={`Model of the ${role}`} className="mono" spellCheck={false} value={models[role] ?? ""} placeholder={usual(role)?.models[0] ?? "provider/model"} onChange={(event) => choose({ ...models, [role]: event.target.value })} />
          <input list="agents" aria-label={`Agent of the ${role}`} className="mono" spellCheck={false} value={programs[role] ?? ""} placeholder={usual(role)?.program ?? "own"} onChange={(event) => give({ ...programs, [role]: event.target.value })} />
        </div>
      ))}
      {known.data && names.length === 0 && <p className="quiet">No provider is set up. Set a key such as ANTHROPIC_API_KEY for the server, and look with <code>holdpoint model list</code>.</p>}
    </div>
  );
}

function Estimated({ wish, ways, children }: { wish: NewRun; ways: number; children: ReactNode }) {
  const [asked, setAsked] = useState<NewRun>();
  const text = JSON.stringify(wish);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(wish.request.trim() && wish.project.startsWith("/") ? (JSON.parse(text) as NewRun) : undefined), 500);
    return () => clearTimeout(timer);
  }, [text, wish.request, wish.project]);
  const estimate = useQuery({ queryKey: ["estimate", asked], queryFn: () => api.estimate(asked as NewRun), enabled: asked !== undefined, retry: false, placeholderData: (before) => before });
  const likely = estimate.data?.likelyUsd;
  return (
    <aside className="estimate" aria-label="Estimate">
      <h2>Estimate</h2>
      {!asked && <p className="quiet">Say what shall be done and where, and this says what it will probably cost.</p>}
      {asked && estimate.isPending && <p className="quiet">asking…</p>}
      {asked && estimate.isError && <Trouble error={estimate.error} />}
      {asked && estimate.data && (
        <>
          <p><strong>{likely !== null && likely !== undefined ? `about ${usd(likely * ways)}` : "not known"}</strong>{estimate.data.highUsd ? `, perhaps ${usd(estimate.data.highUsd * ways)}` : ""} <span className="quiet">{ways > 1 ? `for ${ways} runs; ` : ""}{estimate.data.basis}</span></p>
          {(estimate.data.shared ?? []).map((purse) => <p key={purse.name} className="quiet">{purse.name}: {usd(purse.spentUsd)} of {usd(purse.limitUsd)} spent</p>)}
          {(estimate.data.warnings ?? []).map((warning) => <p key={warning} className="warning"><Words text={warning} /></p>)}
        </>
      )}
      {children}
    </aside>
  );
}

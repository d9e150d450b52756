// What the server was set up with: models and roles, people, notifications, repositories, and whether all is well.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { client, useIsAdmin, useMe } from "../data";
import { api, type LoginCode, type ModelTest, type Models, type User } from "../http";
import { Link } from "../router";
import { Notifications } from "../ui/Notifications";
import { say } from "../ui/Toasts";
import { Badge, Empty, Loading, Trouble, useNow, Words } from "../ui/bits";
import { ago, one, projectName, usd } from "../words";

const parts = [["models", "Models"], ["people", "People"], ["notifications", "Notifications"], ["projects", "Repositories"], ["doctor", "Doctor"]] as const;

export function Settings({ part = "models" }: { part?: string | undefined }) {
  const admin = useIsAdmin();
  const me = useMe();
  return (
    <main className="page settings">
      <header className="page-head"><h1>Settings</h1><span className="quiet">What this server was set up with. Values come from the environment and from <code>config.toml</code>; nothing here changes them.</span></header>
      <nav className="tabs" aria-label="Settings">{parts.map(([name, word]) => <Link key={name} href={name === "models" ? "/settings" : `/settings/${name}`} aria-current={part === name ? "page" : undefined}>{word}</Link>)}</nav>
      {part === "models" && <ModelsPart admin={admin} />}
      {part === "people" && (admin ? <People /> : me.data && <Own />)}
      {part === "notifications" && <Notifications />}
      {part === "projects" && <Projects />}
      {part === "doctor" && (admin ? <DoctorPart /> : <Empty title="For admins"><p>It shows paths and settings of the machine the server runs on.</p></Empty>)}
    </main>
  );
}

function ModelsPart({ admin }: { admin: boolean }) {
  const models = useQuery({ queryKey: ["models"], queryFn: api.models });
  const [tests, setTests] = useState<Record<string, ModelTest | "asking">>({});
  const test = useMutation({
    mutationFn: (names: string[]) => api.testModels(names),
    onMutate: (names) => setTests((now) => ({ ...now, ...Object.fromEntries(names.map((name) => [name, "asking" as const])) })),
    onSuccess: (results) => {
      setTests((now) => ({ ...now, ...Object.fromEntries(results.map((result) => [result.model, result])) }));
      void client.invalidateQueries({ queryKey: ["models"] });
    },
    onError: (_, names) => setTests((now) => Object.fromEntries(Object.entries(now).filter(([name]) => !names.includes(name)))),
  });
  if (!models.data) return models.isError ? <Trouble error={models.error} retry={() => void models.refetch()} /> : <Loading lines={10} />;
  const used = [...new Set(models.data.roles.flatMap((role) => role.models))];
  return (
    <>
      <section aria-label="Roles">
        <header className="section-head"><h2>Roles</h2><span className="quiet">who does what, in the order they are tried</span>
          {admin && used.length > 0 && <button type="button" className="weight-plain small" disabled={test.isPending} onClick={() => test.mutate(used)}>{test.isPending ? "asking…" : `Test ${used.length === 1 ? "it" : `all ${used.length}`}`}</button>}
        </header>
        {test.isError && <Trouble error={test.error} />}
        <div className="scroll sheet" tabIndex={0} role="region" aria-label="Roles and their models">
          <table className="data">
            <thead><tr><th scope="col">Role</th><th scope="col">Agent</th><th scope="col">Models</th><th scope="col">Chosen by</th></tr></thead>
            <tbody>
              {models.data.roles.map((role) => (
                <tr key={role.role}>
                  <th scope="row">{role.role}</th><td>{role.program ?? "own"}</td>
                  <td>{role.models.length > 0 ? role.models.map((name) => <code key={name}>{name}</code>) : <span className="tone-wait">none: set a provider's key</span>}</td>
                  <td className="quiet">{role.from === "chosen" ? "you" : "default"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      <Providers models={models.data} tests={tests} test={(name) => test.mutate([name])} admin={admin} busy={test.isPending} />
      {(models.data.direct ?? []).length > 0 && (
        <section aria-label="Agent programs">
          <header className="section-head"><h2>Programs with a login of their own</h2></header>
          <ul className="plain">{models.data.direct?.map((agent) => <li key={agent.program}><strong>{agent.program}</strong> <span className="quiet">{agent.hosts.join(", ")}</span>{agent.problem && <span className="tone-wait"> {agent.problem.message}. <Words text={agent.problem.hint} /></span>}</li>)}</ul>
        </section>
      )}
      <p className="quiet">Prices of {models.data.prices.version}{models.data.prices.userFileUsed ? ", with your own over them" : ""}. Test calls so far: {models.data.tests.calls}, {usd(models.data.tests.usd)}.</p>
    </>
  );
}

type ProviderProps = { models: Models; tests: Record<string, ModelTest | "asking">; test: (name: string) => void; admin: boolean; busy: boolean };

function Providers({ models, tests, test, admin, busy }: ProviderProps) {
  return (
    <section aria-label="Providers">
      <header className="section-head"><h2>Providers</h2><span className="quiet">{one(models.providers.filter((provider) => provider.setUp).length, "is", "are")} set up</span></header>
      <div className="providers">
        {models.providers.map((provider) => (
          <details key={provider.name} className="file" open={provider.setUp && provider.models.some((model) => model.roles.length > 0)}>
            <summary>
              <span className={provider.setUp ? "tone-good" : "quiet"} aria-hidden="true">{provider.setUp ? "●" : "○"}</span> <strong>{provider.name}</strong>
              <span className="quiet grow">{provider.setUp ? (provider.keyFrom ? `key from ${provider.keyFrom}` : (provider.baseUrl ?? "scripts")) : provider.keyVariable ? `set ${provider.keyVariable} and start the server again` : "not set up"}</span>
              <span className="quiet">{one(provider.models.length, "model")}</span>
            </summary>
            {provider.models.length === 0 ? <p className="quiet">Any model it has can be named; none has a price here.</p> : (
              <div className="scroll" tabIndex={0} role="region" aria-label={`Models of ${provider.name}`}>
                <table className="data">
                  <thead><tr><th scope="col">Model</th><th scope="col">Roles</th><th scope="col" className="right">In</th><th scope="col" className="right">Out</th><th scope="col">{admin ? "Test" : ""}</th></tr></thead>
                  <tbody>
                    {provider.models.map((model) => (
                      <tr key={model.name}>
                        <th scope="row"><code>{model.name}</code></th><td className="quiet">{model.roles.join(", ") || "–"}</td>
                        <td className="right">{model.price ? usd(model.price.input) : "unknown"}</td><td className="right">{model.price ? usd(model.price.output) : "unknown"}</td>
                        <td>{admin && provider.setUp && !model.name.endsWith("*") && <button type="button" className="weight-plain small" disabled={busy} aria-label={`Test ${model.name}`} onClick={() => test(model.name)}>Test</button>} <Tested result={tests[model.name]} /></td>
                      </tr>
                    ))}
                  </tbody>
                </table>
                <p className="quiet small-text">Dollars per million tokens.</p>
              </div>
            )}
          </details>
        ))}
      </div>
    </section>
  );
}

function Tested({ result }: { result: ModelTest | "asking" | undefined }) {
  if (!result) return null;
  if (result === "asking") return <span className="quiet" role="status">asking…</span>;
  if (result.ok) return <span className="tone-good" role="status">✓ {Math.round(result.totalMillis ?? 0)} ms{result.usd !== null && result.usd !== undefined ? `, ${usd(result.usd)}` : ""}</span>;
  return <span className="tone-bad" role="status">✗ {result.problem?.message}. <Words text={result.problem?.hint ?? ""} /></span>;
}

function Own() {
  return <section aria-label="You"><p>Admins let people in. You may log this browser out.</p><Leave /></section>;
}

function Leave() {
  const leave = useMutation({ mutationFn: api.logout, onSuccess: () => location.assign("/") });
  return (
    <div className="buttons">
      <button type="button" className="weight-plain" disabled={leave.isPending} onClick={() => leave.mutate(false)}>Log this browser out</button>
      <button type="button" className="weight-plain" disabled={leave.isPending} onClick={() => leave.mutate(true)}>Log all my browsers out</button>
      {leave.isError && <Trouble error={leave.error} />}
    </div>
  );
}

const roles = [["viewer", "looks at everything and changes nothing"], ["reviewer", "also decides on what waits, answers, pauses and resumes"], ["admin", "also starts, cancels and merges runs, and lets people in"]] as const;

function People() {
  const users = useQuery({ queryKey: ["users"], queryFn: api.users });
  const now = useNow();
  const [name, setName] = useState("");
  const [role, setRole] = useState("reviewer");
  const [shown, setShown] = useState<{ code: LoginCode; token?: string }>();
  const refresh = () => void client.invalidateQueries({ queryKey: ["users"] });
  const add = useMutation({
    mutationFn: async () => {
      const user = await api.addUser(name.trim(), role);
      return { code: await api.loginCode(user.name), token: user.token };
    },
    onSuccess: (given) => {
      setShown(given);
      setName("");
    },
    onSettled: refresh,
  });
  const link = useMutation({ mutationFn: (user: string) => api.loginCode(user), onSuccess: (code) => setShown({ code }) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!add.isPending) add.mutate();
  };
  return (
    <section aria-label="People">
      <form className="person-new" onSubmit={submit}>
        <label>Name<input required value={name} onChange={(event) => setName(event.target.value)} placeholder="grace" pattern="[a-z0-9._\-]+" title="small letters, digits, . - and _" spellCheck={false} autoComplete="off" /></label>
        <label>Role<select value={role} onChange={(event) => setRole(event.target.value)}>{roles.map(([word]) => <option key={word}>{word}</option>)}</select></label>
        <button type="submit" className="weight-yes" disabled={!name.trim() || add.isPending}>{add.isPending ? "adding…" : "Let them in"}</button>
        <p className="quiet">A {role} {roles.find(([word]) => word === role)?.[1]}.</p>
      </form>
      {(add.isError || link.isError) && <Trouble error={add.error ?? link.error} />}
      {shown && <Given key={shown.code.code} given={shown} close={() => setShown(undefined)} />}
      {users.isError && <Trouble error={users.error} retry={() => void users.refetch()} />}
      {users.data?.length === 0 && <p className="quiet">Nobody but you yet. Whoever you let in decides under a name of their own, and every decision says who made it.</p>}
      {users.data && users.data.length > 0 && (
        <div className="scroll sheet" tabIndex={0} role="region" aria-label="Who may come in">
          <table className="data">
            <thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Since</th><th scope="col" className="right">Browsers</th><th scope="col"><span className="sr">Actions</span></th></tr></thead>
            <tbody>{users.data.map((user) => <Person key={user.name} user={user} now={now} link={() => link.mutate(user.name)} refresh={refresh} />)}</tbody>
          </table>
        </div>
      )}
      <header className="section-head"><h2>This browser</h2></header>
      <Leave />
    </section>
  );
}

function Person({ user, now, link, refresh }: { user: User; now: number; link: () => void; refresh: () => void }) {
  const [sure, setSure] = useState(false);
  const revoke = useMutation({
    mutationFn: () => api.revokeUser(user.name),
    onSuccess: () => say(`${user.name} is out`),
    onSettled: refresh,
  });
  return (
    <tr>
      <th scope="row">{user.name}</th><td><Badge tone={user.role === "admin" ? "wait" : user.role === "reviewer" ? "busy" : "calm"}>{user.role}</Badge></td><td className="quiet">{ago(user.addedAt, now)}</td><td className="right">{user.browsers}</td>
      <td>
        <div className="buttons">
          <button type="button" className="weight-plain small" onClick={link}>Login link</button>
          {sure ? <button type="button" className="weight-no small" disabled={revoke.isPending} onClick={() => revoke.mutate()}>Yes, put {user.name} out</button> : <button type="button" className="weight-plain small" onClick={() => setSure(true)}>Revoke…</button>}
        </div>
        {revoke.isError && <Trouble error={revoke.error} />}
      </td>
    </tr>
  );
}

/** Shown once: neither the link nor the token can be looked up again. */
function Given({ given, close }: { given: { code: LoginCode; token?: string }; close: () => void }) {
  const copy = async (text: string, what: string) => {
    try {
      await navigator.clipboard.writeText(text);
      say(`${what} copied`);
    } catch {
      say("The browser does not allow copying here", "bad", "mark it and copy it by hand");
    }
  };
  return (
    <div className="given" role="status">
      <p><strong>For {given.code.user}, shown this once.</strong> The link lets one browser in and is good for {given.code.expiresInSeconds} seconds.</p>
      <div className="secret"><code>{given.code.url}</code><button type="button" className="weight-plain small" onClick={() => void copy(given.code.url, "Link")}>Copy link</button></div>
      {given.token && <><p className="quiet">For programs (<code>Authorization: Bearer …</code>); only its digest is kept:</p><div className="secret"><code>{given.token}</code><button type="button" className="weight-plain small" onClick={() => void copy(given.token ?? "", "Token")}>Copy token</button></div></>}
      <button type="button" className="weight-plain small" onClick={close}>I have it</button>
    </div>
  );
}

function Projects() {
  const projects = useQuery({ queryKey: ["projects"], queryFn: api.projects });
  const now = useNow();
  if (!projects.data) return projects.isError ? <Trouble error={projects.error} retry={() => void projects.refetch()} /> : <Loading />;
  if (projects.data.length === 0) return <Empty title="No repository yet"><p>A repository appears here with its first run. It can add playbooks and stricter rules of its own in <code>.autonomous/</code>.</p><p><Link className="button weight-yes" href="/new">Start a run</Link></p></Empty>;
  return (
    <div className="scroll sheet" tabIndex={0} role="region" aria-label="Repositories">
      <table className="data">
        <thead><tr><th scope="col">Repository</th><th scope="col">Path</th><th scope="col" className="right">Runs</th><th scope="col" className="right">Open</th><th scope="col" className="right">Merged</th><th scope="col" className="right">Spent</th><th scope="col" className="right">Last run</th></tr></thead>
        <tbody>
          {projects.data.map((project) => (
            <tr key={project.path}>
              <th scope="row"><Link href={`/figures?project=${encodeURIComponent(project.path)}`}>{projectName(project.path)}</Link></th><td className="mono">{project.path}{!project.present && <span className="tone-wait"> is not there</span>}</td>
              <td className="right">{project.runs}</td><td className="right">{project.open}</td><td className="right">{project.merged}</td><td className="right">{usd(project.usd)}</td><td className="right quiet">{ago(project.lastStartedAt, now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DoctorPart() {
  const doctor = useQuery({ queryKey: ["doctor"], queryFn: api.doctor });
  const [text, setText] = useState("");
  if (!doctor.data) return doctor.isError ? <Trouble error={doctor.error} retry={() => void doctor.refetch()} /> : <Loading lines={12} />;
  const shown = doctor.data.settings.filter((setting) => `${setting.name} ${setting.value}`.toLowerCase().includes(text.toLowerCase()));
  const marks = { good: ["✓", "tone-good", "good"], warning: ["!", "tone-wait", "could be better"], missing: ["✗", "tone-bad", "missing"] } as const;
  return (
    <>
      <section aria-label="Findings">
        <header className="section-head"><h2>What is there</h2><button type="button" className="weight-plain small" disabled={doctor.isFetching} onClick={() => void doctor.refetch()}>{doctor.isFetching ? "looking…" : "Look again"}</button></header>
        <ul className="findings-list">
          {doctor.data.findings.map((finding) => {
            const [mark, tone, word] = marks[finding.state];
            return <li key={finding.name}><span className={tone} aria-hidden="true">{mark}</span><strong>{finding.name}</strong><span><span className="sr">{word}: </span><Words text={finding.value} />{finding.fix && <small><Words text={finding.fix} /></small>}</span></li>;
          })}
        </ul>
      </section>
      <section aria-label="Settings">
        <header className="section-head"><h2>Every setting</h2><input type="search" aria-label="Search settings" placeholder="Search" value={text} onChange={(event) => setText(event.target.value)} /></header>
        <div className="scroll sheet" tabIndex={0} role="region" aria-label="Settings and where they came from">
          <table className="data">
            <thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th></tr></thead>
            <tbody>{shown.map((setting) => <tr key={setting.name}><th scope="row"><code>{setting.name}</code></th><td>{setting.value}</td><td><Badge tone={setting.source === "default" ? "calm" : "busy"}>{setting.source}</Badge></td></tr>)}</tbody>
          </table>
        </div>
      </section>
    </>
  );
}

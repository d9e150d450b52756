// The frame around every page: where one can go, whether the page is live, the keys.
import { useQueryClient } from "@tanstack/react-query";
import { Component, type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useHolds, useMe } from "./data";
import { Refused } from "./http";
import { pressed } from "./keys";
import { Channels } from "./pages/Channels";
import { Compare } from "./pages/Compare";
import { Inbox } from "./pages/Inbox";
import { Login, SignedOut } from "./pages/Login";
import { MetricsPage } from "./pages/Metrics";
import { NewRunPage } from "./pages/NewRun";
import { RunPage } from "./pages/Run";
import { Runs } from "./pages/Runs";
import { Settings } from "./pages/Settings";
import { go, Link, match, usePath } from "./router";
import { connect, disconnect, useLink } from "./socket";
import { Toasts } from "./ui/Toasts";
import { Empty, Key, Trouble } from "./ui/bits";

export function App() {
  const path = usePath();
  if (path === "/login") return <Login />;
  return <Frame path={path} />;
}

/** Whether anything was answered with 401. */
function useSignedOut(): boolean {
  const cache = useQueryClient().getQueryCache();
  return useSyncExternalStore(
    (watcher) => cache.subscribe(watcher),
    () => cache.getAll().some(({ state: { error } }) => error instanceof Refused && error.status === 401),
  );
}

function Frame({ path }: { path: string }) {
  const [help, setHelp] = useState(false);
  const signedOut = useSignedOut();
  const { holds } = useHolds();
  const me = useMe();
  useEffect(() => {
    if (signedOut) disconnect();
    else connect();
  }, [signedOut]);
  const waiting = holds?.length ?? 0;
  useEffect(() => {
    document.title = waiting > 0 ? `(${waiting}) Holdpoint` : "Holdpoint";
  }, [waiting]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const act = pressed(event);
      if (act === "help") setHelp((now) => !now);
      else if (act === "inbox") go("/");
      else if (act === "runs") go("/runs");
      else if (act === "metrics") go("/figures");
      else if (act === "channels") go("/channels");
      else if (act === "settings") go("/settings");
      else if (act === "new") {
        event.preventDefault();
        go("/new");
      } else if (act === "search") {
        const field = document.querySelector<HTMLInputElement>("main input[type=search]");
        if (field) event.preventDefault();
        field?.focus();
      }
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
  if (signedOut) return <main className="page"><SignedOut /></main>;
  return (
    <div className="frame">
      <nav className="nav" aria-label="Pages">
        <Link href="/" className="brand" aria-label="Holdpoint, to the inbox"><Mark /><span>Holdpoint</span></Link>
        <Place href="/" path={path} word="Inbox" sign={waiting > 0 ? String(waiting) : undefined} letter="i" />
        <Place href="/runs" path={path} word="Runs" letter="l" />
        {(!me.data || me.data.role === "admin") && <Place href="/new" path={path} word="New run" letter="n" />}
        <Place href="/figures" path={path} word="Metrics" letter="m" />
        <Place href="/channels" path={path} word="Channels" letter="t" />
        <Place href="/settings" path={path} word="Settings" letter="," />
        <div className="nav-foot">
          <Connection />
          <Theme />
          <button type="button" className="ghost" onClick={() => setHelp(true)}>Keys<Key>?</Key></button>
          {me.data && <p className="quiet me">{me.data.name} · {me.data.role}</p>}
        </div>
      </nav>
      <Guard key={path.split("/").slice(0, 3).join("/")}><Page path={path} /></Guard>
      {help && <Help close={() => setHelp(false)} />}
      <Toasts />
    </div>
  );
}

function Page({ path }: { path: string }) {
  const run = match("/runs/:id", path) ?? match("/runs/:id/:tab", path);
  if (path === "/") return <Inbox />;
  if (path === "/runs") return <Runs />;
  if (path === "/new") return <NewRunPage />;
  // `/metrics` itself is for monitors.
  if (path === "/figures") return <MetricsPage />;
  if (path === "/compare") return <Compare />;
  if (path === "/channels") return <Channels />;
  if (path === "/settings") return <Settings />;
  const channel = match("/channels/:id", path);
  if (channel) return <Channels id={channel["id"]} />;
  const part = match("/settings/:part", path);
  if (part) return <Settings part={part["part"]} />;
  if (run?.["id"]) return <RunPage id={run["id"]} tab={run["tab"]} />;
  return <main className="page"><Empty title="There is nothing here"><p><Link href="/">Go to the inbox</Link></p></Empty></main>;
}

function Place({ href, path, word, sign, letter }: { href: string; path: string; word: string; sign?: string | undefined; letter: string }) {
  const here = href === "/" ? path === "/" : path.startsWith(href);
  return (
    <Link href={href} className="place" aria-current={here ? "page" : undefined}>
      <span>{word}</span>
      {sign ? <span className="sign">{sign}</span> : <Key>{letter}</Key>}
    </Link>
  );
}

function Connection() {
  const link = useLink();
  const words = { live: "Live", connecting: "Connecting…", lost: "Not live – trying again" }[link];
  return <p className={`connection ${link}`} role="status"><span className="dot" aria-hidden="true" />{words}</p>;
}

function Theme() {
  const [theme, setTheme] = useState(document.documentElement.dataset["theme"] ?? "system");
  const next = { system: "light", light: "dark", dark: "system" }[theme] ?? "system";
  const change = () => {
    if (next === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = next;
    try {
      localStorage.setItem("theme", next);
    } catch {
      // Without storage it lasts as long as the page.
    }
    setTheme(next);
  };
  return <button type="button" className="ghost" onClick={change} title={`Change to ${next}`}>Theme<span className="quiet">{theme}</span></button>;
}

const Mark = () => (
  <svg className="mark" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><rect width="32" height="32" rx="8" /><path d="M11 8v16M21 8v16M11 16h10" /></svg>
);

const keys: [string, [string, string][]][] = [
  ["Anywhere", [["i", "inbox"], ["l", "runs"], ["n", "new run"], ["m", "metrics"], ["t", "channels"], [",", "settings"], ["/", "search in the list"], ["?", "these keys"], ["Esc", "close, go back"]]],
  ["Lists", [["j k", "next, previous"], ["Enter", "open the run"], ["x", "mark a run"], ["c", "compare what is marked"]]],
  ["Decisions", [["a", "approve what is shown"], ["r", "send back, or try again"], ["s", "suggest something"], ["1 – 9", "choose an option"], ["Ctrl ↵", "send what you wrote"]]],
  ["Charts", [["← →", "read week by week"]]],
];

function Help({ close }: { close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} className="help" onClose={close} onClick={(event) => event.target === box.current && close()} aria-label="Keys">
      <h2>Keys</h2>
      <div className="key-groups">
        {keys.map(([where, list]) => (
          <section key={where}><h3>{where}</h3><dl>{list.map(([key, what]) => <div key={key}><dt>{key.split(" ").map((one, at) => (one === "–" ? " – " : <Key key={at}>{one}</Key>))}</dt><dd>{what}</dd></div>)}</dl></section>
        ))}
      </div>
      <button type="button" className="weight-plain" onClick={close}>Close<Key>Esc</Key></button>
    </dialog>
  );
}

/** A page that breaks says so, and the others stay. */
class Guard extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined as unknown };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <main className="page"><Trouble error={this.state.error} retry={() => this.setState({ error: undefined })} /></main>;
  }
}

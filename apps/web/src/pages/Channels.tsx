// Talk about a repository outside any run: an agent that may only read answers, with references to files.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { listen, silence, titleOf } from "../channel";
import { client, useIsAdmin, useProjects } from "../data";
import { api, type Channel, type ChannelMessage, type Question } from "../http";
import type { Heard } from "../live";
import { go, Link } from "../router";
import { Markdown } from "../ui/Markdown";
import { TurnItems } from "../ui/Sessions";
import { Empty, Key, Loading, Marked, Trouble, useNow } from "../ui/bits";
import { ago, projectName, usd } from "../words";

export function Channels({ id }: { id?: string | undefined }) {
  const channels = useQuery({ queryKey: ["channels"], queryFn: api.channels, refetchInterval: 10_000 });
  const may = useIsAdmin();
  const now = useNow();
  const list = channels.data;
  const opens = id === "new";
  if (channels.isError && !list) return <main className="page"><Trouble error={channels.error} retry={() => void channels.refetch()} /></main>;
  return (
    <main className={id ? "inbox open" : "inbox"}>
      <section className="inbox-list" aria-label="Channels">
        <header className="list-head"><h1>Channels</h1>{may && <Link href="/channels/new" className="button weight-plain small">New</Link>}</header>
        {!list && <Loading lines={6} />}
        <nav className="channel-list" aria-label="Channels">
          {list?.map((channel) => (
            <Link key={channel.id} href={`/channels/${channel.id}`} className="row static" aria-current={channel.id === id ? "page" : undefined}>
              <span className="row-title">{titleOf(channel)}</span>
              <span className="row-sub">{projectName(channel.project)} · {channel.createdBy} · {ago(channel.createdAt, now)}</span>
            </Link>
          ))}
        </nav>
      </section>
      <section className="inbox-detail" aria-label="Conversation">
        {id && <h1 className="sr narrow">Channels</h1>}
        {id && <button type="button" className="back" onClick={() => go("/channels")}>← Channels</button>}
        {opens && may && <Open />}
        {id && !opens && <Conversation key={id} id={id} may={may} />}
        {!id && list && list.length > 0 && <Empty title="Choose a channel"><p>Each is a conversation about one repository. Nothing is changed by it.</p></Empty>}
        {!id && list?.length === 0 && (
          <Empty title="Ask about a codebase">
            <p>An agent that may only read looks through the repository and answers, with the files and lines it found. Nothing is changed, and no run is started.</p>
            {may ? <p><Link className="button weight-yes" href="/channels/new">Open a channel</Link></p> : <p className="quiet">An admin can open one.</p>}
            <p className="quiet">or in a terminal: <code>holdpoint channel open</code></p>
          </Empty>
        )}
      </section>
    </main>
  );
}

function Open() {
  const projects = useProjects();
  const [project, setProject] = useState<string>();
  const [title, setTitle] = useState("");
  const path = project ?? projects[0] ?? "";
  const open = useMutation({
    mutationFn: () => api.openChannel({ project: path, title: title.trim() }),
    onSuccess: (channel) => {
      void client.invalidateQueries({ queryKey: ["channels"] });
      go(`/channels/${channel.id}`, "replace");
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!open.isPending) open.mutate();
  };
  return (
    <form className="channel-new" onSubmit={submit}>
      <h2>New channel</h2>
      <label>Repository<input list="channel-projects" required value={path} onChange={(event) => setProject(event.target.value)} className="mono" spellCheck={false} /><datalist id="channel-projects">{projects.map((one) => <option key={one} value={one} />)}</datalist></label>
      <label>What is it about?<input value={title} autoFocus maxLength={200} onChange={(event) => setTitle(event.target.value)} placeholder="How notes are stored" /></label>
      {open.isError && <Trouble error={open.error} />}
      <div className="buttons"><button type="submit" className="weight-yes" disabled={open.isPending || !path}>{open.isPending ? "opening…" : "Open it"}</button></div>
    </form>
  );
}

/** The channel's own socket; what it last said stays on the screen while it is away. */
function useTalk(id: string) {
  const [talk, hear] = useReducer(listen, silence);
  const [link, setLink] = useState<"connecting" | "live" | "lost">("connecting");
  useEffect(() => {
    let [tries, over] = [0, false];
    let socket: WebSocket | undefined;
    let timer: number | undefined;
    const connect = () => {
      const address = new URL(`/api/channels/${encodeURIComponent(id)}/live`, location.href);
      address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
      socket = new WebSocket(address, ["holdpoint"]);
      socket.onopen = () => {
        tries = 0;
        setLink("live");
      };
      socket.onmessage = ({ data }) => hear(JSON.parse(String(data)) as ChannelMessage);
      socket.onclose = () => {
        if (over) return;
        setLink("lost");
        tries += 1;
        timer = window.setTimeout(connect, Math.min(10_000, 250 * 2 ** tries));
      };
    };
    connect();
    return () => {
      over = true;
      clearTimeout(timer);
      socket?.close();
    };
  }, [id]);
  // While the socket is away, the channel is asked for instead.
  const polled = useQuery({ queryKey: ["channel", id], queryFn: () => api.channel(id), refetchInterval: link === "live" ? false : 4_000, enabled: link !== "live" });
  const channel = link === "live" ? (talk.channel ?? polled.data) : (polled.data ?? talk.channel);
  return { channel, heard: talk.heard, link, error: polled.error };
}

function Conversation({ id, may }: { id: string; may: boolean }) {
  const { channel, heard, link, error } = useTalk(id);
  const end = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const near = useRef(true);
  const size = channel?.questions?.length ?? 0;
  useEffect(() => {
    if (near.current) end.current?.scrollIntoView({ block: "end" });
  }, [heard, channel]);
  useEffect(() => {
    near.current = true;
  }, [size]);
  if (!channel) return error ? <Trouble error={error} /> : <Loading lines={8} />;
  const watch = () => {
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = box.current ?? {};
    near.current = scrollTop + clientHeight > scrollHeight - 80;
  };
  return (
    <article className="panel" aria-label={titleOf(channel)}>
      <div className="panel-body talk" ref={box} onScroll={watch} tabIndex={0}>
        <header className="panel-head">
          <p className="crumbs"><span>{projectName(channel.project)}</span><span className="mono">{channel.project}</span>{link === "lost" && <span className="tone-wait">not live – trying again</span>}</p>
          <h2>{titleOf(channel)}</h2>
        </header>
        {size === 0 && <p className="quiet">Nothing was asked yet. Good first questions: where something is handled, why it is done this way, what a change would touch.</p>}
        {channel.questions?.map((question) => <Exchange key={question.number} question={question} heard={heard.get(question.session)} />)}
        <div ref={end} />
      </div>
      <footer className="panel-foot">{may ? <Ask channel={channel} /> : <p className="quiet">You may read along; asking takes an admin.</p>}</footer>
    </article>
  );
}

function Exchange({ question, heard }: { question: Question; heard: Heard | undefined }) {
  const now = useNow();
  return (
    <section className="exchange" aria-label={`Question ${question.number}`}>
      <div className="asked-by"><p className="quiet">{question.by} · {ago(question.askedAt, now)}</p><p className="said"><Marked text={question.text} /></p></div>
      {question.state === "open" && (
        <div className="answering" aria-live="polite">
          {heard && <TurnItems items={heard.items} />}
          <p className="quiet typing"><span className="dot tone-busy pulse" aria-hidden="true" /> looking through the code, with {question.model}</p>
        </div>
      )}
      {question.answer && <Markdown text={question.answer} drawings={[]} />}
      {question.state === "failed" && <div className="trouble"><p className="trouble-what">{question.problem ?? "There is no answer."}</p><p>Ask again, or choose another model.</p></div>}
      {question.state !== "open" && <p className="quiet small-text">{question.model}{question.usd !== null && question.usd !== undefined ? ` · ${usd(question.usd)}` : ""}</p>}
    </section>
  );
}

function Ask({ channel }: { channel: Channel }) {
  const [text, setText] = useState("");
  const [model, setModel] = useState("");
  const models = useQuery({ queryKey: ["models"], queryFn: api.models });
  const names = useMemo(() => models.data?.providers.filter((one) => one.setUp).flatMap((one) => one.models.map(({ name }) => name)).filter((name) => !name.endsWith("*")) ?? [], [models.data]);
  const usual = models.data?.roles.find((one) => one.role === "discussion")?.models[0];
  const ask = useMutation({ mutationFn: () => api.askChannel(channel.id, { text, ...(model && { model }) }), onSuccess: () => setText("") });
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim() && !ask.isPending) ask.mutate();
  };
  return (
    <form className="ask-channel" onSubmit={send}>
      <textarea rows={2} aria-label="Your question" placeholder="Ask about this repository" value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && send()} />
      <div className="buttons">
        <button type="submit" className="weight-yes" disabled={!text.trim() || ask.isPending}>{ask.isPending ? "sending…" : "Ask"}<Key>Ctrl ↵</Key></button>
        <select aria-label="Model that answers" value={model} onChange={(event) => setModel(event.target.value)}><option value="">{usual ?? "the usual model"}</option>{names.filter((name) => name !== usual).map((name) => <option key={name}>{name}</option>)}</select>
      </div>
      {ask.isError && <Trouble error={ask.error} />}
    </form>
  );
}

// What else a person should know of a run: its goal, what it assumed, whose text it read, who has its session.
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { client, useMayDecide } from "../data";
import { api, type Run } from "../http";
import { say } from "./Toasts";
import { Badge, Key, Trouble, Words } from "./bits";

export function Notes({ run }: { run: Run }) {
  const strangers = run.strangers ?? [];
  const direct = run.direct ?? [];
  return (
    <>
      {run.attached && <p className="note">{run.attached.by} has this agent's session on a terminal of their own since {new Date(run.attached.since).toLocaleTimeString()}{run.attached.active ? "." : ", and left it without handing it back."} Resume hands it back.</p>}
      {run.failure && <div className="trouble"><p className="trouble-what">{run.failure}</p></div>}
      {strangers.length > 0 && <p className="strangers">It has read text of strangers: {strangers.map((one) => `${one.words}${one.trusted ? " (trusted)" : ""}`).join(", ")}.{strangers.some((one) => !one.trusted) ? " Its agents reach nothing but their models, and a person looks before anything leaves the branch." : ""}</p>}
      {direct.length > 0 && <p className="note">{direct.map((one) => `${one.program} plays ${one.role} with its own login`).join("; ")}: its cost is what it reports.</p>}
      {(run.assumptions ?? []).map((assumption) => <Assumption key={assumption.number} run={run} assumption={assumption} />)}
      {run.goal && <Goal goal={run.goal} run={run} />}
    </>
  );
}

function Assumption({ run, assumption }: { run: Run; assumption: NonNullable<Run["assumptions"]>[number] }) {
  const may = useMayDecide();
  const [text, setText] = useState<string>();
  const overturn = useMutation({
    mutationFn: () => api.overturn(run.id, assumption.number, [text ?? ""]),
    onSuccess: (now) => {
      client.setQueryData(["run", run.id], now);
      say("The agent is told, and goes back to where it assumed it.");
      setText(undefined);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text?.trim() && !overturn.isPending) overturn.mutate();
  };
  return (
    <div className="note">
      <p>Nobody answered in time, so it went on with a guess in {assumption.stage}: <Words text={assumption.question} /> <strong>{assumption.answer.join(", ")}</strong>{assumption.overturned && <> <Badge tone="calm">overturned</Badge></>}</p>
      {may && !assumption.overturned && !run.completedAt && (text === undefined ? <button type="button" className="weight-plain small" onClick={() => setText("")}>That is wrong…</button> : (
        <form className="ask" onSubmit={submit}>
          <label>What is right?<textarea rows={2} autoFocus value={text} onChange={(event) => setText(event.target.value)} /></label>
          <div className="buttons"><button type="submit" className="weight-yes" disabled={!text.trim() || overturn.isPending}>{overturn.isPending ? "sending…" : "Say so"}</button><button type="button" className="weight-plain" onClick={() => setText(undefined)}>Back<Key>Esc</Key></button></div>
        </form>
      ))}
      {overturn.isError && <Trouble error={overturn.error} />}
    </div>
  );
}

function Goal({ goal, run }: { goal: NonNullable<Run["goal"]>; run: Run }) {
  const last = run.reflections?.at(-1);
  const facts = goal as { iteration?: number; phase?: string | null; tasks?: { id?: string; title?: string; status?: string }[] };
  return (
    <section className="guide" aria-label="Goal">
      <p><strong>Iteration {facts.iteration ?? run.reflections?.length ?? 0}</strong>{facts.phase ? `, ${facts.phase}` : ""}{last ? ` · ${last.progress} % of the goal` : ""}</p>
      {last && <progress value={last.progress} max={100} aria-label="Progress towards the goal" />}
      {last && <p className="quiet"><Words text={last.content} /> Next: <Words text={last.nextAction} /></p>}
      {(facts.tasks ?? []).length > 0 && <ul className="tasks">{facts.tasks?.map((task, at) => <li key={task.id ?? at}><Badge tone={task.status === "done" || task.status === "completed" ? "good" : task.status === "failed" ? "bad" : "calm"}>{task.status ?? "open"}</Badge> {task.title}</li>)}</ul>}
    </section>
  );
}

// What a person may do with a run as it stands: pause, resume, merge, pull request, fork, cancel. Offers only what is allowed;
// the server decides again.
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { client, patched, useIsAdmin, useMayDecide } from "../data";
import { api, freshKey, type Hold, type Run } from "../http";
import { isOver, shortId } from "../words";
import { ForkDialog } from "./Fork";
import { say } from "./Toasts";
import { Key, Trouble } from "./bits";

type Act = "pause" | "resume" | "merge" | "pull" | "cancel" | "force";
const done: Record<Act, string> = { pause: "is paused", resume: "goes on", merge: "is merged once all is checked", pull: "gets a pull request", cancel: "is cancelled", force: "is merged on your word" };

export function Controls({ run }: { run: Run }) {
  const [may, admin] = [useMayDecide(), useIsAdmin()];
  const [asked, setAsked] = useState<"cancel" | "force">();
  const [forks, setForks] = useState(false);
  const key = useRef(freshKey());
  const act = useMutation({
    mutationFn: async ({ what, reason }: { what: Act; reason?: string }): Promise<Run> => {
      const { hold } = run;
      if (what === "pause") return api.pause(run.id);
      if (what === "resume") return api.resume(run.id);
      if (what === "cancel") return api.cancel(run.id, reason);
      if (what === "force") {
        const commit = run.artifacts.findLast((made) => made.type === "code" || made.type === "handoff")?.commit;
        await api.mergeTask(run.id, { force: true, ...(reason && { reason }), ...(commit && { commit }) });
        return api.run(run.id);
      }
      // A yes counts for exactly what this page shows.
      return api.decide(run.id, { decision: what === "merge" ? "approve" : "create_pr", digest: hold?.digest ?? "", ...(hold && { hold: hold.id }) }, key.current);
    },
    onSuccess: (now, { what }) => {
      key.current = freshKey();
      client.setQueryData(["run", run.id], now);
      client.setQueryData<Hold[]>(["holds"], (holds) => patched(holds, now));
      void client.invalidateQueries({ queryKey: ["run", run.id] });
      say(`\`${shortId(run.id)}\` ${done[what]}`);
      setAsked(undefined);
    },
    onError: () => {
      key.current = freshKey();
      void client.invalidateQueries({ queryKey: ["run", run.id] });
    },
  });
  // A run of a task belongs to its parent's plan; everything else can be gone on with from an earlier point, when it is over too.
  const forkable = admin && !run.parent && run.artifacts.length > 0;
  if (!may || (isOver(run) && !forkable)) return null;
  const { hold } = run;
  const review = hold?.kind === "review";
  const forced = admin && run.playbook === "task" && !review && run.artifacts.some((made) => made.type === "code" || made.type === "handoff");
  const button = (what: Act, word: string, weight = "plain") => <button type="button" className={`weight-${weight}`} disabled={act.isPending} onClick={() => act.mutate({ what })}>{word}</button>;
  const fork = forkable && <button type="button" className="weight-plain" onClick={() => setForks(true)}>Fork…</button>;
  const dialog = forks && <ForkDialog run={run} close={() => setForks(false)} />;
  if (isOver(run)) return <div className="controls"><div className="buttons">{fork}</div>{dialog}</div>;
  return (
    <div className="controls">
      <div className="buttons">
        {review && hold.allowed.includes("approve") && button("merge", "Merge", "yes")}
        {review && hold.allowed.includes("create_pr") && button("pull", "Pull request")}
        {(hold?.kind === "paused" || run.attached) && button("resume", "Resume", "yes")}
        {!hold && button("pause", "Pause")}
        {forced && <button type="button" className="weight-plain" onClick={() => setAsked("force")}>Merge unreviewed…</button>}
        {fork}
        {admin && <button type="button" className="weight-plain" onClick={() => setAsked("cancel")}>Cancel…</button>}
        {act.isPending && <span className="sending" role="status">sending…</span>}
      </div>
      {act.isError && !asked && <Trouble error={act.error} />}
      {dialog}
      {asked && <Sure what={asked} busy={act.isPending} error={act.error} go={(reason) => act.mutate({ what: asked, ...(reason && { reason }) })} close={() => setAsked(undefined)} />}
    </div>
  );
}

type SureProps = { what: "cancel" | "force"; busy: boolean; error: Error | null; go: (reason: string) => void; close: () => void };

function Sure({ what, busy, error, go, close }: SureProps) {
  const box = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState("");
  useEffect(() => {
    box.current?.showModal();
  }, []);
  const words = what === "cancel"
    ? { title: "End this run?", text: "Its agent is stopped. The branch stays, and everything recorded stays.", yes: "End the run" }
    : { title: "Merge what nobody reviewed?", text: "The newest code is merged on your word alone, and that is recorded under your name.", yes: "Merge it" };
  return (
    <dialog ref={box} className="help" onClose={close} aria-label={words.title}>
      <form className="ask" onSubmit={(event) => { event.preventDefault(); if (!busy) go(reason.trim()); }}>
        <h2>{words.title}</h2>
        <p>{words.text}</p>
        <label>Why? (optional, is recorded)<input value={reason} autoFocus onChange={(event) => setReason(event.target.value)} /></label>
        {error && <Trouble error={error} />}
        <div className="buttons"><button type="submit" className="weight-no" disabled={busy}>{busy ? "sending…" : words.yes}</button><button type="button" className="weight-plain" onClick={close}>Back<Key>Esc</Key></button></div>
      </form>
    </dialog>
  );
}

// A new run from any point of this one at which nothing was half done: what came before is neither done nor paid again.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { api, type ForkPoint, freshKey, Refused, type Run } from "../http";
import { go } from "../router";
import { decisionWords, shortId, usd } from "../words";
import { say } from "./Toasts";
import { Key, Loading, Time, Trouble, Words } from "./bits";

export function ForkDialog({ run, at, close }: { run: Run; at?: number | undefined; close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const points = useQuery({ queryKey: ["run", run.id, "points"], queryFn: () => api.forkPoints(run.id) });
  const [chosen, setChosen] = useState(at);
  const [decision, setDecision] = useState("");
  const [text, setText] = useState("");
  const [model, setModel] = useState("");
  const [budget, setBudget] = useState("");
  const key = useRef(freshKey());
  useEffect(() => {
    box.current?.showModal();
  }, []);
  // The last point at or before the event that was pointed at; the last of all otherwise.
  const list = points.data ?? [];
  const point = list.findLast((one) => one.at <= (chosen ?? Number.POSITIVE_INFINITY)) ?? list[0];
  const fork = useMutation({
    mutationFn: (from: ForkPoint) =>
      api.fork(run.id, {
        at: from.at,
        ...(decision && { decision: { decision, ...(decision === "answer" ? { answer: [text] } : text.trim() ? { text } : {}) } }),
        ...(model.trim() && { models: { "*": model.trim() } }),
        ...(Number(budget) > 0 && { budgetUsd: Number(budget) }),
      }, key.current),
    onSuccess: ({ run: made }) => {
      say(`\`${shortId(made.id)}\` begins where \`${shortId(run.id)}\` stood`);
      go(`/runs/${made.id}`);
    },
    onError: (error) => {
      if (error instanceof Refused && error.status !== 0) key.current = freshKey();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (point && !fork.isPending) fork.mutate(point);
  };
  const asks = decision ? decisionWords(decision, point?.hold?.kind).asks : "nothing";
  const allowed = point?.hold?.allowed.filter((word) => word !== "cancel") ?? [];
  return (
    <dialog ref={box} className="help fork" onClose={close} aria-label="Fork this run">
      <form className="ask" onSubmit={submit}>
        <h2>Fork this run</h2>
        <p className="quiet">A new run on a branch of its own begins at the point you choose. What came before is taken over, not done again.</p>
        {points.isPending && <Loading lines={5} />}
        {points.isError && <Trouble error={points.error} />}
        {points.data?.length === 0 && <p className="quiet">There is no such point yet.</p>}
        {list.length > 0 && (
          <fieldset className="points"><legend>Where</legend>
            {[...list].reverse().map((one) => (
              <label key={one.at} className={one.at === point?.at ? "option picked" : "option"}>
                <input type="radio" name="point" checked={one.at === point?.at} onChange={() => { setChosen(one.at); setDecision(""); }} />
                <span><Words text={one.what} /> <span className="quiet">event {one.at} · <Time at={one.time} /> · saves {usd(one.usd)}</span></span>
              </label>
            ))}
          </fieldset>
        )}
        {allowed.length > 0 && (
          <label>What is decided there
            <select value={decision} onChange={(event) => { setDecision(event.target.value); setText(""); }}><option value="">nothing: it waits there again</option>{allowed.map((word) => <option key={word} value={word}>{decisionWords(word, point?.hold?.kind).label}</option>)}</select>
          </label>
        )}
        {decision && asks !== "nothing" && <label>{decisionWords(decision, point?.hold?.kind).prompt ?? "What is said"}<textarea rows={3} value={text} onChange={(event) => setText(event.target.value)} /></label>}
        <div className="fork-more">
          <label>Another model for every role<input className="mono" spellCheck={false} value={model} onChange={(event) => setModel(event.target.value)} placeholder="as it was" /></label>
          <label>May spend, in dollars<input type="number" min="0.01" step="0.01" value={budget} onChange={(event) => setBudget(event.target.value)} placeholder="as it was" /></label>
        </div>
        {fork.isError && <Trouble error={fork.error} />}
        <div className="buttons"><button type="submit" className="weight-yes" disabled={!point || fork.isPending}>{fork.isPending ? "starting…" : "Start the fork"}</button><button type="button" className="weight-plain" onClick={close}>Back<Key>Esc</Key></button></div>
      </form>
    </dialog>
  );
}

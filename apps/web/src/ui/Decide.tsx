// The decisions a hold takes, and what each needs. A decision carries the digest that was on the screen; nothing is
// called done before the server has said so.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { client, patched } from "../data";
import { api, type DecideRequest, freshKey, type Hold, Refused, type Run } from "../http";
import { decisionFor, pressed } from "../keys";
import { unopened } from "../change";
import { decisionWords, one, shortId } from "../words";
import { Answer } from "./Answer";
import type { Opened } from "./ChangeView";
import { say } from "./Toasts";
import { Key, Trouble } from "./bits";

type Fields = Pick<DecideRequest, "text" | "answer" | "minutes" | "usd" | "model">;
type Wish = { decision: string; fields: Fields; key: string };
const keyOf: Record<string, string> = { approve: "a", resume: "a", reject: "r", suggest: "s" };

function useDecide(hold: Hold, onDone: () => void) {
  return useMutation({
    mutationFn: ({ decision, fields, key }: Wish) =>
      api.decide(hold.run, { decision, digest: hold.digest, hold: hold.id, ...fields }, key),
    onSuccess: (run: Run, { decision }) => {
      client.setQueryData<Hold[]>(["holds"], (holds) => patched(holds, run));
      client.setQueryData(["run", run.id], run);
      void client.invalidateQueries({ queryKey: ["run", run.id] });
      say(`\`${shortId(run.id)}\` ${decisionWords(decision, hold.kind).done}`);
      onDone();
    },
    onError: (error) => {
      if (!(error instanceof Refused) || error.status !== 409) return;
      // Somebody was first, or what is shown is no longer what is there.
      say(error.problem.message, "bad", error.problem.hint);
      void client.invalidateQueries({ queryKey: ["holds"] });
      void client.invalidateQueries({ queryKey: ["run", hold.run] });
    },
  });
}

/** Decisions that let the code that is shown go on. */
const isYes = (decision: string) => ["approve", "accept_anyway", "create_pr"].includes(decision);

type Props = { hold: Hold; shown: boolean; opened: Opened | undefined; may: boolean; onDone: () => void; plan?: string | undefined; feedback: string };
/** A key pressed sooner was meant for the hold that was here before. */
const TOO_SOON = 400;

export function Decide({ hold, shown, opened, may, onDone, plan, feedback }: Props) {
  const [takesKeys, setTakesKeys] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setTakesKeys(true), TOO_SOON);
    return () => clearTimeout(timer);
  }, []);
  const [chosen, setChosen] = useState<string>();
  const [sure, setSure] = useState<string>();
  const decide = useDecide(hold, onDone);
  const { mutate, isPending } = decide;
  const wish = useRef("");
  const send = useCallback(
    (decision: string, fields: Fields = {}) => {
      // The same wish keeps its key: sent again after a lost connection it is still done once.
      const said = JSON.stringify([decision, fields]);
      if (!wish.current.startsWith(said)) wish.current = `${said}|${freshKey()}`;
      mutate({ decision, fields, key: wish.current.slice(said.length + 1) });
    },
    [mutate],
  );
  const choose = useCallback(
    (decision: string) => {
      if (isPending || !shown) return;
      // Nobody says yes to what is not there, nor to what was not opened without being told.
      if (isYes(decision) && opened && opened.state !== "there") return;
      if (isYes(decision) && opened && opened.unopened.length > 0) {
        setSure(decision);
        return;
      }
      if (decisionWords(decision).asks === "nothing") send(decision);
      else setChosen(decision);
    },
    [isPending, shown, opened, send],
  );
  const goOn = (decision: string) => {
    setSure(undefined);
    if (decisionWords(decision).asks === "nothing") send(decision);
    else setChosen(decision);
  };
  useEffect(() => {
    if (!may || !takesKeys) return undefined;
    const listen = (event: KeyboardEvent) => {
      const act = pressed(event);
      if (act === "close") {
        setChosen(undefined);
        setSure(undefined);
      }
      const decision = act && typeof act === "string" ? decisionFor(act, hold.allowed) : undefined;
      if (!decision || event.repeat) return;
      event.preventDefault();
      if (decision === "answer") document.querySelector<HTMLElement>(".answer input, .answer textarea")?.focus();
      else choose(decision);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [hold.allowed, choose, may, takesKeys]);

  if (!may) return <p className="quiet">You may look, and others decide. An admin can make you a reviewer.</p>;
  const buttons = hold.allowed.filter((word) => word !== "answer");
  return (
    <div className="decide" aria-busy={isPending} data-takes-keys={takesKeys}>
      {hold.allowed.includes("answer") && <Answer hold={hold} busy={isPending} send={(answer) => send("answer", { answer })} />}
      {chosen && <Ask key={chosen} decision={chosen} hold={hold} plan={plan} feedback={feedback} busy={isPending} send={(fields) => send(chosen, fields)} leave={() => setChosen(undefined)} />}
      {sure && opened && <Sure decision={sure} hold={hold} opened={opened} goOn={() => goOn(sure)} leave={() => setSure(undefined)} />}
      {opened?.state === "failed" && <p className="unopened" role="status">The change cannot be shown, so it cannot be approved.</p>}
      {!chosen && !sure && (
        <div className="buttons">
          {buttons.map((word) => {
            const { label, weight } = decisionWords(word, hold.kind);
            return (
              <button key={word} type="button" className={`weight-${hold.allowed.includes("answer") && weight === "yes" ? "plain" : weight}`} disabled={isPending || !shown || (isYes(word) && opened !== undefined && opened.state !== "there")} onClick={() => choose(word)}>
                {label}
                {keyOf[word] && <Key>{keyOf[word]}</Key>}
              </button>
            );
          })}
          {opened?.state === "there" && opened.unopened.length > 0 && <span className="quiet unopened-count">{one(opened.unopened.length, "file")} of {opened.all} not opened</span>}
          {isPending && <span className="sending" role="status">sending…</span>}
        </div>
      )}
      {decide.isError && <Trouble error={decide.error} />}
    </div>
  );
}

type SureProps = { decision: string; hold: Hold; opened: Opened; goOn: () => void; leave: () => void };

/** What was not opened, before a yes to it. */
function Sure({ decision, hold, opened, goOn, leave }: SureProps) {
  const { label } = decisionWords(decision, hold.kind);
  const all = opened.unopened.length === 0;
  return (
    <div className="unopened" role="alertdialog" aria-label="Files that were not opened">
      <p>{all ? "Every file is open now." : unopened(opened.unopened, opened.all)}</p>
      <div className="buttons">
        {!all && <button type="button" className="weight-plain" onClick={opened.openAll}>Open them</button>}
        <button type="button" className={all ? "weight-yes" : "weight-no"} onClick={goOn}>{all ? label : `${label} without having seen them`}</button>
        <button type="button" className="weight-plain" onClick={leave}>Back<Key>Esc</Key></button>
      </div>
    </div>
  );
}

type AskProps = { decision: string; hold: Hold; plan: string | undefined; feedback: string; busy: boolean; send: (fields: Fields) => void; leave: () => void };

/** What a decision wants to know. */
function Ask({ decision, hold, plan, feedback, busy, send, leave }: AskProps) {
  const { label, asks, prompt = "", weight } = decisionWords(decision, hold.kind);
  const [text, setText] = useState(asks === "plan" ? (plan ?? "") : asks === "usd" ? "1.00" : asks === "minutes" ? "30" : decision === "reject" || decision === "retry" ? feedback : "");
  const [model, setModel] = useState("");
  const first = useRef<HTMLTextAreaElement & HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (busy) return;
    if (asks === "usd") send({ usd: Number(text) });
    else if (asks === "minutes") send({ minutes: Math.round(Number(text)) });
    else send({ ...(text.trim() && { text }), ...(asks === "retry" && model && { model }) });
  };
  const number = asks === "usd" || asks === "minutes";
  const empty = (asks === "text" || asks === "plan") && text.trim() === "";
  return (
    <form className="ask" onSubmit={submit}>
      <label>
        {prompt}
        {number ? (
          <input ref={first} type="number" min={asks === "usd" ? 0.01 : 1} step={asks === "usd" ? 0.01 : 1} value={text} onChange={(event) => setText(event.target.value)} required />
        ) : (
          <textarea
            ref={first} rows={asks === "plan" ? 18 : feedback ? 6 : 3} className={asks === "plan" ? "mono" : ""} value={text} onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && (event.metaKey || event.ctrlKey) && !empty && submit()}
          />
        )}
      </label>
      {asks === "retry" && (hold.kind === "model" || hold.kind === "budget" || hold.kind === "quota") && <ModelChoice value={model} choose={setModel} />}
      <div className="buttons">
        <button type="submit" className={`weight-${weight === "no" ? "no" : "yes"}`} disabled={busy || empty}>{busy ? "sending…" : label}{!number && !busy && <Key>Ctrl ↵</Key>}</button>
        <button type="button" className="weight-plain" onClick={leave} disabled={busy}>Back<Key>Esc</Key></button>
      </div>
    </form>
  );
}

function ModelChoice({ value, choose }: { value: string; choose: (model: string) => void }) {
  const models = useQuery({ queryKey: ["models"], queryFn: api.models });
  const names = models.data?.providers.filter((one) => one.setUp).flatMap((one) => one.models.map((model) => model.name)) ?? [];
  return (
    <label>
      With another model from now on
      <select value={value} onChange={(event) => choose(event.target.value)}>
        <option value="">the same</option>
        {names.filter((name) => !name.endsWith("*")).map((name) => <option key={name}>{name}</option>)}
      </select>
    </label>
  );
}

// The answer to an agent's question: text, one option, several, or a file.
import { type FormEvent, useEffect, useState } from "react";
import type { Hold } from "../http";
import { pressed } from "../keys";
import { Key, Words } from "./bits";

const LARGEST = 900_000;
type Props = { hold: Hold; busy: boolean; send: (answer: string[]) => void };

export function Answer({ hold, busy, send }: Props) {
  const options = hold.options ?? [];
  const [picked, setPicked] = useState<string[]>([]);
  const [text, setText] = useState("");
  const [file, setFile] = useState<{ name: string; content: string }>();
  const [wrong, setWrong] = useState("");
  const several = hold.responseType === "multiple_choice";
  const choice = options.length > 0 && (several || hold.responseType === "single_choice");
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const act = pressed(event);
      const option = typeof act === "object" ? options[act.option] : undefined;
      if (!choice || option === undefined) return;
      setPicked((now) => (several ? toggled(now, option) : [option]));
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [choice, several, options]);
  const ready = choice ? picked.length > 0 : hold.responseType === "file_upload" ? file !== undefined : text.trim() !== "";
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (!ready || busy) return;
    if (choice) send(options.filter((option) => picked.includes(option)));
    else if (hold.responseType === "file_upload" && file) send([file.name, file.content]);
    else send([text]);
  };
  const read = async (chosen: File | undefined) => {
    setFile(undefined);
    setWrong("");
    if (!chosen) return;
    if (chosen.size > LARGEST) return setWrong(`${chosen.name} is larger than ${LARGEST / 1000} kB. Put it into the repository and name its path instead.`);
    try {
      const content = new TextDecoder("utf-8", { fatal: true }).decode(await chosen.arrayBuffer());
      setFile({ name: chosen.name, content });
    } catch {
      setWrong(`${chosen.name} is not text. Choose a text file.`);
    }
  };
  return (
    <form className="answer" onSubmit={submit}>
      {choice && (
        <fieldset>
          <legend>{several ? "Choose any" : "Choose one"}</legend>
          {options.map((option, at) => (
            <label key={option} className={picked.includes(option) ? "option picked" : "option"}>
              <input type={several ? "checkbox" : "radio"} name={hold.id} checked={picked.includes(option)} onChange={() => setPicked((now) => (several ? toggled(now, option) : [option]))} />
              <span><Words text={option} /></span>
              {hold.default?.includes(option) && <em className="quiet">the agent's own choice</em>}
              {at < 9 && <Key>{at + 1}</Key>}
            </label>
          ))}
        </fieldset>
      )}
      {!choice && hold.responseType === "file_upload" && (
        <label className="upload">
          A text file from this computer
          <input type="file" onChange={(event) => void read(event.target.files?.[0])} />
          {file && <span className="quiet">{file.name}, {file.content.length} characters, is sent to the agent whole</span>}
        </label>
      )}
      {!choice && hold.responseType !== "file_upload" && (
        <label>
          Your answer
          {hold.secret
            ? <><input type="password" autoComplete="off" value={text} onChange={(event) => setText(event.target.value)} /><span className="quiet">A secret: only the agent that asks is told, and it is not written down.</span></>
            : <textarea rows={3} value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => event.key === "Enter" && (event.metaKey || event.ctrlKey) && submit()} />}
        </label>
      )}
      {wrong && <p className="trouble" role="alert">{wrong}</p>}
      <div className="buttons">
        <button type="submit" className="weight-yes" disabled={!ready || busy}>{busy ? "sending…" : "Answer"}{!choice && !busy && hold.responseType !== "file_upload" && <Key>Ctrl ↵</Key>}</button>
      </div>
    </form>
  );
}

export const toggled = (list: string[], item: string) => (list.includes(item) ? list.filter((one) => one !== item) : [...list, item]);

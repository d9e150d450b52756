// What a person says about single lines of a diff; it becomes the words that send the work back.
import { createContext, useContext, useEffect, useRef, useState } from "react";
import type { Line } from "../diff";
import { Key } from "./bits";

export type Said = { place: string; text: string };
/** Absent where nobody can be told. */
export const Comments = createContext<{ list: Said[]; say: (place: string, text: string) => void } | undefined>(undefined);

export const placeOf = (path: string, line: Line | undefined): string =>
  line?.new !== undefined ? `${path}:${line.new}` : `${path}:${line?.old ?? "?"} (removed)`;

/** The comments as the agent reads them. */
export const asFeedback = (list: Said[]): string => list.map(({ place, text }) => `${place}: ${text}`).join("\n");

export function Commenting({ before, place, leave }: { before: string; place: string; leave: () => void }) {
  const comments = useContext(Comments);
  const [text, setText] = useState(before);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => box.current?.focus(), []);
  const keep = () => {
    comments?.say(place, text.trim());
    leave();
  };
  return (
    <div className="commenting">
      <textarea
        ref={box} rows={2} aria-label={`Comment on ${place}`} value={text} onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") leave();
          else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
        }}
      />
      <div className="buttons">
        <button type="button" className="weight-yes" onClick={keep} disabled={!text.trim()}>Keep for the feedback<Key>Ctrl ↵</Key></button>
        <button type="button" className="weight-plain" onClick={leave}>Back<Key>Esc</Key></button>
      </div>
    </div>
  );
}

export function Comment({ text, drop }: { text: string; drop: () => void }) {
  return <div className="comment"><span>{text}</span><button type="button" onClick={drop}>Remove</button></div>;
}

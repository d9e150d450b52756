// Small pieces that every screen uses.
import { type ReactNode, useEffect, useState } from "react";
import { Refused } from "../http";
import { inline } from "../markdown";
import { statusTone, statusWords, type Tone } from "../words";

export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`badge tone-${tone}`}>{children}</span>;
}

export function Status({ status }: { status: string }) {
  const tone = statusTone(status);
  return (
    <span className={`status tone-${tone}`}>
      <span className={`dot${status === "running" ? " pulse" : ""}`} aria-hidden="true" />
      {statusWords(status)}
    </span>
  );
}

/** Untrusted text on its own; hidden characters are marked as in every text (`src/jsx`). */
export const Marked = ({ text }: { text: string }) => <>{text}</>;

/** Text with `code`, **strong** and *em*; everything else stays as it was written. */
export function Words({ text }: { text: string }) {
  return inline(text).map((part, at) => {
    const text = <Marked key={at} text={part.text} />;
    if (part.kind === "code") return <code key={at}>{text}</code>;
    if (part.kind === "strong") return <strong key={at}>{text}</strong>;
    if (part.kind === "em") return <em key={at}>{text}</em>;
    return text;
  });
}

export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  const refused = error instanceof Refused;
  return (
    <div className="trouble" role="alert">
      <p className="trouble-what">{refused ? error.problem.message : "Something broke in this page."}</p>
      <p>{refused ? <Words text={error.problem.hint} /> : `Reload it. (${String(error)})`}</p>
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Keeps the place of what is being loaded, so that nothing jumps. */
export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <div className="loading" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => <span key={at} className={`bar bar-${at % 4}`} />)}
    </div>
  );
}

export const Key = ({ children }: { children: ReactNode }) => <kbd>{children}</kbd>;

/** The time, told anew so often that "3 min ago" stays true. */
export function useNow(every = 10_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

export function Time({ at }: { at: string }) {
  const date = new Date(at);
  return <time dateTime={at} title={date.toLocaleString()}>{date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })}</time>;
}

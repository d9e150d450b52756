// How things are said: times, money, statuses, decisions. One place, so that every screen says the same.
import type { Hold, Run } from "./http";

export function ago(from: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(from)) / 1000));
  if (seconds < 5) return "now";
  return `${span(seconds)} ago`;
}

/** A length of time in its two largest units, at most. */
export function span(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return days < 14 && hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
}

export function between(from: string, to: string | null | undefined, now: number): string {
  return span(((to ? Date.parse(to) : now) - Date.parse(from)) / 1000);
}

export function usd(value: number | null | undefined): string {
  if (value === null || value === undefined) return "unknown";
  if (value === 0) return "$0.00";
  if (value < 0.01) return `$${value.toFixed(4)}`;
  return `$${value.toFixed(2)}`;
}

export function count(value: number): string {
  if (value < 1000) return String(value);
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export const one = (many: number, word: string, words = `${word}s`) => `${many} ${many === 1 ? word : words}`;

const statuses: Record<string, [string, Tone]> = {
  queued: ["Queued", "calm"],
  running: ["Working", "busy"],
  awaiting_approval: ["Needs a decision", "wait"],
  awaiting_clarification: ["Asks a question", "wait"],
  paused: ["Paused", "wait"],
  stuck: ["Stuck", "bad"],
  completed: ["Done", "good"],
  failed: ["Failed", "bad"],
  cancelled: ["Cancelled", "calm"],
};
export type Tone = "calm" | "busy" | "wait" | "good" | "bad";
export const statusWords = (status: string): string => statuses[status]?.[0] ?? status.replaceAll("_", " ");
export const statusTone = (status: string): Tone => statuses[status]?.[1] ?? "calm";
export const allStatuses = Object.keys(statuses);

export const holdNames: Record<string, string> = {
  approval: "Approve", clarification: "Question", confirm: "Ready?", fix: "Checks failed", permission: "Permission",
  timeout: "Out of time", model: "Model fails", quota: "Quota spent", budget: "Budget", conflict: "Conflict",
  credentials: "Credentials", review: "Review", stuck: "Stuck", paused: "Paused",
};
export function holdWords(hold: Hold): string {
  if (hold.kind === "approval" && hold.artifact) return hold.artifact.type === "code" ? "Approve code" : "Approve plan";
  return holdNames[hold.kind] ?? hold.kind;
}
export function holdTone(kind: string): Tone {
  if (kind === "stuck" || kind === "fix" || kind === "model" || kind === "conflict" || kind === "permission") return "bad";
  if (kind === "paused" || kind === "quota") return "calm";
  return kind === "clarification" || kind === "confirm" ? "busy" : "wait";
}

/** What a decision is called, and what it asks the person for. */
export type Asks = "nothing" | "text?" | "text" | "plan" | "minutes" | "usd" | "answer" | "retry";
type DecisionWords = { label: string; asks: Asks; prompt?: string; weight: "yes" | "plain" | "no"; done: string };
const decisions: Record<string, DecisionWords> = {
  approve: { label: "Approve", asks: "nothing", weight: "yes", done: "approved" },
  approve_for_run: { label: "Approve for this run", asks: "nothing", weight: "plain", done: "approved for the run" },
  answer: { label: "Answer", asks: "answer", weight: "yes", done: "answered" },
  resume: { label: "Resume", asks: "nothing", weight: "yes", done: "resumed" },
  retry: { label: "Try again", asks: "retry", prompt: "What should be done differently? (optional)", weight: "yes", done: "sent back" },
  raise: { label: "Raise the budget", asks: "usd", prompt: "Dollars more", weight: "yes", done: "budget raised" },
  extend: { label: "Give more time", asks: "minutes", prompt: "Minutes more", weight: "yes", done: "time given" },
  resolve: { label: "Let the agent resolve it", asks: "nothing", weight: "yes", done: "handed to the agent" },
  create_pr: { label: "Open a pull request", asks: "nothing", weight: "plain", done: "pull request asked for" },
  reject: { label: "Request changes", asks: "text", prompt: "What should change?", weight: "plain", done: "sent back with your words" },
  suggest: { label: "Suggest", asks: "text", prompt: "A hint; the agent weighs it", weight: "plain", done: "suggestion sent" },
  modify_plan: { label: "Edit the plan", asks: "plan", prompt: "The plan as it should be", weight: "plain", done: "plan replaced" },
  ask: { label: "Ask the agent", asks: "text", prompt: "Your question; this comes back here with the answer", weight: "plain", done: "question sent" },
  ignore: { label: "Let the agent decide", asks: "nothing", weight: "plain", done: "left to the agent" },
  accept_anyway: { label: "Accept anyway", asks: "text?", prompt: "Why? (optional, is recorded)", weight: "plain", done: "accepted" },
  take_over: { label: "Take over", asks: "nothing", weight: "plain", done: "taken over" },
  cancel: { label: "Cancel run", asks: "text?", prompt: "Why? (optional, is recorded)", weight: "no", done: "cancelled" },
};
const refuse: DecisionWords = { label: "Refuse", asks: "text", prompt: "Why not? The agent reads it", weight: "plain", done: "refused" };
export const decisionWords = (word: string, kind = ""): DecisionWords =>
  kind === "permission" && word === "reject" ? refuse : decisions[word] ?? { label: word.replaceAll("_", " "), asks: "text?", weight: "plain", done: word };

/** Most urgent first: what stands still for want of a yes, then what ends by itself, oldest first within each. */
export function urgency(a: Hold, b: Hold): number {
  const rank = (hold: Hold) => (hold.deadline ? 0 : hold.kind === "paused" || hold.kind === "quota" ? 2 : 1);
  return rank(a) - rank(b) || Date.parse(a.since) - Date.parse(b.since) || a.id.localeCompare(b.id);
}

/** The first line of a request; the rest is told where there is room. */
export const headline = (request: string) => request.trimStart().split("\n", 1)[0] || "(nothing said yet)";
export const shortId = (id: string) => id.split("-")[0] ?? id;
export const projectName = (path: string) => path.split("/").filter(Boolean).at(-1) ?? path;
export const isOver = (run: Run) => run.completedAt !== null && run.completedAt !== undefined;

// Keeps the connection to `/api/live`, feeds `live.ts`, and tells React. Messages of one frame are shown together.
import { useSyncExternalStore } from "react";
import type { LiveMessage, Run } from "./http";
import { type Heard, type Live, nothing, receive, reconnected } from "./live";

export type Link = "connecting" | "live" | "lost";
type Seen = { live: Live; link: Link };

let seen: Seen = { live: nothing, link: "connecting" };
let socket: WebSocket | undefined;
let tries = 0;
let timer: number | undefined;
let waiting: LiveMessage[] = [];
let drawing = false;
let wanted = false;
const watchers = new Set<() => void>();
const listeners = new Set<(message: LiveMessage) => void>();

/** Every message in order, once it is part of the state. */
export function onMessage(listener: (message: LiveMessage) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function show(next: Partial<Seen>) {
  seen = { ...seen, ...next };
  for (const watcher of watchers) watcher();
}

function drain() {
  drawing = false;
  const messages = waiting;
  waiting = [];
  let live = seen.live;
  for (const message of messages) live = receive(live, message);
  show({ live });
  for (const message of messages) for (const listener of listeners) listener(message);
  if (live.gap) socket?.close();
}

function enqueue(message: LiveMessage) {
  waiting.push(message);
  if (drawing) return;
  drawing = true;
  // A hidden page gets no frames, and must not pile messages up.
  if (document.hidden) setTimeout(drain, 50);
  else requestAnimationFrame(drain);
}

export function connect() {
  wanted = true;
  if (socket) return;
  const { position } = seen.live;
  const address = new URL("/api/live", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  if (position !== undefined) address.searchParams.set("after", String(position));
  const opened = new WebSocket(address, ["holdpoint"]);
  socket = opened;
  opened.onopen = () => {
    tries = 0;
    show({ live: reconnected(seen.live), link: "live" });
  };
  opened.onmessage = ({ data }) => enqueue(JSON.parse(String(data)) as LiveMessage);
  opened.onclose = () => {
    if (socket !== opened) return;
    socket = undefined;
    if (waiting.length > 0) drain();
    if (!wanted) return;
    const again = seen.live.gap ? 0 : Math.min(10_000, 250 * 2 ** tries) * (0.7 + Math.random() * 0.6);
    tries += 1;
    if (!seen.live.gap) show({ link: "lost" });
    timer = window.setTimeout(connect, again);
  };
}

export function disconnect() {
  wanted = false;
  clearTimeout(timer);
  socket?.close();
  socket = undefined;
}

const subscribe = (watcher: () => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

export const useLink = (): Link => useSyncExternalStore(subscribe, () => seen.link);
export const useLiveRuns = (): ReadonlyMap<string, Run> => useSyncExternalStore(subscribe, () => seen.live.runs);
export const useHeard = (run: string): Heard | undefined =>
  useSyncExternalStore(subscribe, () => seen.live.heard.get(run));

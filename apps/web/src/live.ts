// What the live messages add up to. Pure: no socket, no clock, no React.
//
// Stored events carry a position. One that was seen is dropped; one that skips positions is not believed before the
// connection was made anew from the last position known, so nothing is ever missing in between unnoticed.
import type { LiveMessage, Run, TurnItem } from "./http";

/** A turn as far as it was heard. */
export type Heard = { session: string; stage: string; turn: number; items: TurnItem[]; over: boolean };

export type Live = {
  /** Everything up to here is in `runs`; absent before the first snapshot. */
  position: number | undefined;
  runs: ReadonlyMap<string, Run>;
  /** What the agent of a run does right now; not stored, may begin in the middle. */
  heard: ReadonlyMap<string, Heard>;
  /** A position was skipped: connect anew with `after`. */
  gap: boolean;
  /** The next event may follow at any position: the server was just asked for everything after ours. */
  fresh: boolean;
  /** Counts snapshots: whoever keeps something of their own looks it up again. */
  snapshots: number;
};

export const nothing: Live = {
  position: undefined,
  runs: new Map(),
  heard: new Map(),
  gap: false,
  fresh: true,
  snapshots: 0,
};

/** A new connection was opened with `after` = our position. */
export function reconnected(live: Live): Live {
  return { ...live, gap: false, fresh: true, heard: new Map() };
}

export function receive(live: Live, message: LiveMessage): Live {
  switch (message.message) {
    case "snapshot": {
      const runs = new Map(message.runs.map((run) => [run.id, run]));
      return { ...nothing, position: message.position, runs, snapshots: live.snapshots + 1, fresh: true };
    }
    case "event":
      return event(live, message);
    case "activity":
      return { ...live, heard: hear(live.heard, message) };
    case "behind":
      // A snapshot follows; until then what we have stays on the screen.
      return live;
  }
}

function event(live: Live, message: Extract<LiveMessage, { message: "event" }>): Live {
  const { position, run } = message;
  if (live.gap || (live.position !== undefined && position <= live.position)) return live;
  if (!live.fresh && live.position !== undefined && position > live.position + 1) return { ...live, gap: true };
  const runs = new Map(live.runs);
  const known = runs.get(run.id);
  // A row may show more than the event it came with, never less.
  if (!known || known.version <= run.version) runs.set(run.id, run);
  const heard = run.hold || run.completedAt ? without(live.heard, run.id) : live.heard;
  return { ...live, position, runs, heard, fresh: false };
}

function without<V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> {
  if (!map.has(key)) return map;
  const less = new Map(map);
  less.delete(key);
  return less;
}

type Activity = Extract<LiveMessage, { message: "activity" }>;

function hear(heard: Live["heard"], { run, name, data }: Activity): Live["heard"] {
  const before = heard.get(run);
  const now = further(before, name, data);
  if (now === before) return heard;
  return now ? new Map(heard).set(run, now) : without(heard, run);
}

/** What is heard after one more activity; nothing once the conversation is over. */
export function further(before: Heard | undefined, name: Activity["name"], data: object): Heard | undefined {
  const said = data as Record<string, unknown>;
  const text = (key: string) => (typeof said[key] === "string" ? said[key] : "");
  const turn = typeof said["turn"] === "number" ? said["turn"] : undefined;
  if (turn === undefined) return name === "session:completed" ? undefined : before;
  const same = before && before.turn === turn && before.session === text("session");
  const now: Heard = same ? { ...before } : { session: text("session"), stage: text("stage"), turn, items: [], over: false };
  now.items = add(now.items, name, said, text);
  // Tools of a turn run after the model's part of it is complete.
  now.over = name === "turn:completed" || now.over;
  return now;
}

function add(items: TurnItem[], name: Activity["name"], said: Record<string, unknown>, text: (key: string) => string) {
  if (name === "turn:message_delta" || name === "turn:thought_delta") {
    const kind = name === "turn:message_delta" ? "message" : "thought";
    const last = items.at(-1);
    if (last?.kind === kind) return [...items.slice(0, -1), { ...last, text: last.text + text("text") }];
    return [...items, { kind, text: text("text") } as TurnItem];
  }
  const call = text("call");
  const rest = items.filter((item) => item.kind !== "tool" || item.call !== call);
  const known = items.find((item) => item.kind === "tool" && item.call === call);
  const input = known?.kind === "tool" ? known.input : text("input");
  if (name === "turn:tool_started") return [...rest, { kind: "tool" as const, call, tool: text("tool"), input }];
  if (name !== "turn:tool_completed") return items;
  const done = { kind: "tool" as const, call, tool: text("tool"), input, output: text("output"), ok: said["ok"] === true };
  const millis = typeof said["millis"] === "number" ? { millis: said["millis"] } : {};
  return [...rest, { ...done, ...millis }];
}

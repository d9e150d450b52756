import { describe, expect, test } from "vitest";
import type { LiveMessage, Run } from "../src/http";
import { type Live, nothing, receive, reconnected } from "../src/live";

const run = (id: string, version: number, more: Partial<Run> = {}) => ({ id, version, status: "running", hold: null, completedAt: null, ...more }) as Run;
const snapshot = (position: number, ...runs: Run[]): LiveMessage => ({ message: "snapshot", position, runs });
const event = (position: number, now: Run) => ({ message: "event", position, name: "workflow:event", event: {}, run: now }) as unknown as LiveMessage;
const activity = (name: string, data: object) => ({ message: "activity", run: "a", name, data: { session: "s", stage: "planning", ...data } }) as unknown as LiveMessage;
const all = (messages: LiveMessage[], from: Live = nothing) => messages.reduce(receive, from);

describe("stored events", () => {
  test("a snapshot and the events after it give the runs as they are now", () => {
    const live = all([snapshot(7, run("a", 3)), event(8, run("a", 4)), event(9, run("b", 1))]);
    expect([live.position, live.runs.get("a")?.version, live.runs.get("b")?.version]).toEqual([9, 4, 1]);
  });
  test("an event that was seen before changes nothing", () => {
    const live = all([snapshot(7, run("a", 3)), event(8, run("a", 4))]);
    expect(receive(live, event(8, run("a", 1)))).toBe(live);
    expect(receive(live, event(3, run("a", 1)))).toBe(live);
  });
  test("a skipped position is not believed, and nothing after it either", () => {
    const live = all([snapshot(7, run("a", 3)), event(8, run("a", 4)), event(10, run("a", 6)), event(11, run("a", 7))]);
    expect([live.gap, live.position, live.runs.get("a")?.version]).toEqual([true, 8, 4]);
  });
  test("after connecting anew the next event may have any higher position", () => {
    const broken = all([snapshot(7, run("a", 3)), event(8, run("a", 4)), event(10, run("a", 6))]);
    const live = all([event(10, run("a", 6)), event(11, run("a", 7))], reconnected(broken));
    expect([live.gap, live.position, live.runs.get("a")?.version]).toEqual([false, 11, 7]);
  });
  test("a snapshot after being behind replaces everything", () => {
    const live = all([snapshot(7, run("a", 3), run("b", 1)), { message: "behind", position: 90 }, snapshot(90, run("a", 40))]);
    expect([live.position, [...live.runs.keys()], live.snapshots]).toEqual([90, ["a"], 2]);
  });
  test("a run never goes back to an older version", () => {
    const live = all([snapshot(7, run("a", 9)), event(8, run("a", 8))]);
    expect([live.position, live.runs.get("a")?.version]).toEqual([8, 9]);
  });
});

describe("what an agent does right now", () => {
  test("pieces of text grow together, thoughts apart from words", () => {
    const live = all([activity("turn:started", { turn: 1 }), activity("turn:thought_delta", { turn: 1, text: "Hm" }), activity("turn:message_delta", { turn: 1, text: "I " }), activity("turn:message_delta", { turn: 1, text: "look" })]);
    expect(live.heard.get("a")?.items).toEqual([{ kind: "thought", text: "Hm" }, { kind: "message", text: "I look" }]);
  });
  test("a tool keeps its input when its output comes", () => {
    const live = all([activity("turn:tool_started", { turn: 1, call: "c", tool: "shell", input: "ls" }), activity("turn:tool_completed", { turn: 1, call: "c", tool: "shell", ok: true, output: "x", millis: 3 })]);
    expect(live.heard.get("a")?.items).toEqual([{ kind: "tool", call: "c", tool: "shell", input: "ls", output: "x", ok: true, millis: 3 }]);
  });
  test("the next turn begins empty, and a run that waits says nothing", () => {
    const live = all([snapshot(1), activity("turn:message_delta", { turn: 1, text: "a" }), activity("turn:started", { turn: 2 })]);
    expect(live.heard.get("a")?.items).toEqual([]);
    const waits = run("a", 2, { hold: { id: "a.1" } as NonNullable<Run["hold"]> });
    expect(receive(live, event(2, waits)).heard.has("a")).toBe(false);
  });
});

import { expect, test } from "vitest";
import type { RunEvent } from "../src/http";
import { rounds } from "../src/rounds";

const at = (second: number) => new Date(second * 1000).toISOString();
const event = (second: number, type: string, payload: object = {}) => ({ run: "r", sequence: 1, type, timestamp: at(second), payload }) as RunEvent;
const begins = (second: number, stage: string, visit = 1) => event(second, "STAGE_STARTED", { stage, visit });

test("every visit of a stage is a round with its own time", () => {
  const told = rounds([begins(0, "plan"), event(10, "STAGE_COMPLETED", { stage: "plan" }), begins(10, "code"), begins(40, "code", 2), event(50, "STAGE_COMPLETED", { stage: "code" })], 0);
  expect(told.map(({ stage, visit, from, to, ended }) => [stage, visit, from / 1000, (to ?? 0) / 1000, ended])).toEqual([["plan", 1, 0, 10, "done"], ["code", 1, 10, 40, "sent back"], ["code", 2, 40, 50, "done"]]);
});

test("waiting for a person is told apart from working", () => {
  const [round] = rounds([begins(0, "plan"), event(5, "APPROVAL_REQUESTED"), event(65, "APPROVAL_GRANTED"), event(66, "STAGE_COMPLETED", { stage: "plan" })], 0);
  expect(round?.waited).toBe(60_000);
});

test("a round that waits now has waited until now", () => {
  const [round] = rounds([begins(0, "plan"), event(5, "HOLD_PLACED")], 25_000);
  expect([round?.waited, round?.to, round?.ended]).toEqual([20_000, undefined, ""]);
});

test("the end of a run ends its round", () => {
  const [round] = rounds([begins(0, "plan"), event(5, "RUN_CANCELLED")], 90_000);
  expect([round?.to, round?.ended]).toEqual([5_000, "cancelled"]);
});

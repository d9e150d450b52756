import { expect, test } from "vitest";
import { decisionFor, meaning, moved } from "../src/keys";

const press = (key: string, more: object = {}) => meaning({ key, ctrlKey: false, metaKey: false, altKey: false, typing: false, ...more });

test("keys mean nothing while somebody types, except Escape", () => {
  expect([press("a", { typing: true }), press("1", { typing: true }), press("Escape", { typing: true })]).toEqual([undefined, undefined, "close"]);
});
test("the browser keeps its own keys", () => {
  expect([press("r", { ctrlKey: true }), press("a", { metaKey: true }), press("k", { altKey: true })]).toEqual([undefined, undefined, undefined]);
});
test("digits choose options", () => {
  expect([press("1"), press("9"), press("0")]).toEqual([{ option: 0 }, { option: 8 }, undefined]);
});
test("a key stands only for decisions the hold allows", () => {
  expect(decisionFor("approve", ["approve", "reject"])).toBe("approve");
  expect(decisionFor("approve", ["retry", "accept_anyway", "cancel"])).toBeUndefined();
  expect(decisionFor("reject", ["retry", "cancel"])).toBe("retry");
  expect(decisionFor("suggest", ["retry", "cancel"])).toBeUndefined();
});
test("no key cancels a run", () => {
  for (const key of "abcdefghijklmnopqrstuvwxyz?") {
    const act = press(key);
    if (act) expect(decisionFor(act, ["cancel"])).toBeUndefined();
  }
});
test("moving stays inside the list", () => {
  expect([moved(0, 3, "previous"), moved(2, 3, "next"), moved(-1, 3, "next"), moved(0, 0, "next")]).toEqual([0, 2, 0, -1]);
});

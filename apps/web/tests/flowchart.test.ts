import { expect, test } from "vitest";
import { arranged } from "../src/flowchart";

const box = (id: string) => ({ id, label: id, shape: "box" as const, width: 200, height: 50 });
const edge = (from: string, to: string) => ({ from, to, label: "", dashed: false, open: false });

test("a task stands to the right of what it waits for, and none covers another", () => {
  const { boxes } = arranged([box("model"), box("store"), box("page"), box("tests")], [edge("model", "store"), edge("model", "page"), edge("store", "tests"), edge("page", "tests")], true);
  const at = new Map(boxes.map((one) => [one.id, one]));
  const x = (id: string) => at.get(id)?.x ?? 0;
  expect([x("model") < x("store"), x("store") === x("page"), x("page") < x("tests")]).toEqual([true, true, true]);
  for (const a of boxes) for (const b of boxes) if (a !== b) expect(Math.abs(a.x - b.x) >= 200 || Math.abs(a.y - b.y) >= 50).toBe(true);
});

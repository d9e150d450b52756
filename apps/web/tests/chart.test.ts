import { describe, expect, test } from "vitest";
import { band, labelled, segments, ticks } from "../src/chart";

describe("marks at the side", () => {
  test("are round and reach over the largest value", () => {
    expect(ticks(7, "count")).toEqual([0, 3, 6, 9]);
    expect(ticks(0.37, "usd")).toEqual([0, 0.2, 0.4]);
    expect(ticks(3.2, "times")).toEqual([0, 2, 4]);
  });
  test("of times are times people say", () => {
    expect(ticks(50, "seconds")).toEqual([0, 30, 60]);
    expect(ticks(5400, "seconds")).toEqual([0, 1800, 3600, 5400]);
  });
  test("never pass a whole for shares, and are there for nothing at all", () => {
    expect(ticks(0.3, "share")).toEqual([0, 0.5, 1]);
    expect(ticks(0, "count")).toEqual([0, 1]);
  });
  test("of few things are whole numbers", () => {
    expect(ticks(1, "count")).toEqual([0, 1]);
    expect(ticks(2, "count")).toEqual([0, 1, 2]);
  });
});

test("a week without a value is a gap and no zero", () => {
  expect(segments([1, 0, null, 2, undefined, undefined, 3])).toEqual([[0, 1], [3], [6]]);
  expect(segments([null])).toEqual([]);
});

test("bars stand in the middle of their band and never touch", () => {
  const [first, second] = [band(0, 12, 0, 120), band(1, 12, 0, 120)];
  expect(first.x).toBe(5);
  expect(first.x + first.width / 2).toBeLessThan(second.x - second.width / 2);
});

test("labels thin out where there is no room, and the newest week is always named", () => {
  expect(labelled(4, 400)).toEqual([0, 1, 2, 3]);
  const few = labelled(52, 400);
  expect(few.at(-1)).toBe(51);
  expect(few.length).toBeLessThanOrEqual(8);
});

import { expect, test } from "vitest";
import { compared, parseHunks, sideBySide } from "../src/diff";

const text = `@@ -1,4 +1,5 @@ function x() {
 one
-two
--- three
+zwei
+++ drei
+vier
 four
\\ No newline at end of file
@@ -10 +11 @@
-old
\\ No newline at end of file
+new
`;

test("changed lines that look like headers stay lines", () => {
  const lines = parseHunks(text)[0]?.lines.map((line) => line.text);
  expect(lines).toEqual(["one", "two", "-- three", "zwei", "++ drei", "vier", "four"]);
});
test("a line without an end at the end of the file says so", () => {
  const marked = parseHunks(text).flatMap((hunk) => hunk.lines).filter((line) => line.noEnd).map((line) => line.text);
  expect(marked).toEqual(["four", "old"]);
});
test("removed lines stand beside those that took their place, with their own numbers", () => {
  const rows = sideBySide(parseHunks(text)[0]?.lines ?? []);
  expect(rows.map(({ left, right }) => [left?.old, right?.new])).toEqual([[1, 1], [2, 2], [3, 3], [undefined, 4], [4, 5]]);
});
test("pages put together read as the whole, wherever they end", () => {
  for (let cut = 0; cut < text.length; cut += 1) expect(parseHunks(text.slice(0, cut) + text.slice(cut))).toEqual(parseHunks(text));
  expect(parseHunks("")).toEqual([]);
});
test("two versions differ only where they differ, and each can be read back", () => {
  const lines = compared("a\nb\nc\nd", "a\nx\nc\nd\ne");
  expect(lines.map((line) => `${{ same: " ", add: "+", del: "-" }[line.kind]}${line.text}`)).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
  expect(lines.filter((line) => line.kind !== "add").map((line) => line.text).join("\n")).toBe("a\nb\nc\nd");
  expect(lines.filter((line) => line.kind !== "del").map((line) => line.new)).toEqual([1, 2, 3, 4, 5]);
});

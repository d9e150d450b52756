import { expect, test } from "vitest";
import { compared, parseDiff, sideBySide } from "../src/diff";

const text = `diff --git a/src/app.js b/src/app.js
index 1..2 100644
--- a/src/app.js
+++ b/src/app.js
@@ -1,4 +1,5 @@ function x() {
 one
-two
--- three
+zwei
+++ drei
+vier
 four
\\ No newline at end of file
diff --git a/new file.txt b/new file.txt
new file mode 100644
--- /dev/null
+++ b/new file.txt\t
@@ -0,0 +1 @@
+hello
diff --git a/old.bin b/old.bin
deleted file mode 100644
Binary files a/old.bin and /dev/null differ
diff --git a/a.md b/b.md
similarity index 100%
rename from a.md
rename to b.md
`;

test("every file has its name, kind and counts", () => {
  const files = parseDiff(text).map(({ path, status, added, deleted, binary }) => [path, status, added, deleted, binary]);
  expect(files).toEqual([["src/app.js", "M", 3, 2, false], ["new file.txt", "A", 1, 0, false], ["old.bin", "D", 0, 0, true], ["b.md", "R", 0, 0, false]]);
});
test("changed lines that look like headers stay lines", () => {
  const lines = parseDiff(text)[0]?.hunks[0]?.lines.map((line) => line.text);
  expect(lines).toEqual(["one", "two", "-- three", "zwei", "++ drei", "vier", "four"]);
});
test("removed lines stand beside those that took their place, with their own numbers", () => {
  const rows = sideBySide(parseDiff(text)[0]?.hunks[0]?.lines ?? []);
  expect(rows.map(({ left, right }) => [left?.old, right?.new])).toEqual([[1, 1], [2, 2], [3, 3], [undefined, 4], [4, 5]]);
});
test("what is no diff gives no file", () => {
  expect(parseDiff("")).toEqual([]);
  expect(parseDiff("hello\n@@ -1 +1 @@\n")).toEqual([]);
});
test("two versions differ only where they differ, and each can be read back", () => {
  const lines = compared("a\nb\nc\nd", "a\nx\nc\nd\ne");
  expect(lines.map((line) => `${{ same: " ", add: "+", del: "-" }[line.kind]}${line.text}`)).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
  expect(lines.filter((line) => line.kind !== "add").map((line) => line.text).join("\n")).toBe("a\nb\nc\nd");
  expect(lines.filter((line) => line.kind !== "del").map((line) => line.new)).toEqual([1, 2, 3, 4, 5]);
});

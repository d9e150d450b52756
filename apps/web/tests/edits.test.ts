import { expect, test } from "vitest";
import { editsOf } from "../src/edits";

test("an edit of our own agent and of a program we know are the same thing", () => {
  const edit = { path: "a.ts", before: "x", after: "y" };
  expect(editsOf("edit_file", JSON.stringify({ path: "a.ts", old_text: "x", new_text: "y" }))).toEqual([edit]);
  expect(editsOf("Edit", JSON.stringify({ file_path: "a.ts", old_string: "x", new_string: "y" }))).toEqual([edit]);
});

test("several edits in one call are several edits", () => {
  const input = JSON.stringify({ edits: [{ path: "a", old_text: "1", new_text: "2" }, { path: "b", old_text: "", new_text: "3" }] });
  expect(editsOf("multi_edit", input).map((edit) => edit.path)).toEqual(["a", "b"]);
});

test("a written file is all new, and reading changes nothing", () => {
  expect(editsOf("write_file", JSON.stringify({ path: "a", content: "x" }))).toEqual([{ path: "a", before: "", after: "x" }]);
  expect(editsOf("read_file", JSON.stringify({ path: "a", content: "x" }))).toEqual([]);
});

test("what is no JSON changes nothing", () => {
  for (const input of ["", "sleep 3", "null", "[]", '"text"', '{"edits": 3}']) expect(editsOf("edit_file", input)).toEqual([]);
});

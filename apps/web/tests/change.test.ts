import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { about, matching, openedAtOnce, ordered, unopened } from "../src/change";
import { pieces, reveal } from "../src/hidden";
import type { ChangedFile } from "../src/http";

const file = (path: string, added: number | undefined, more: Partial<ChangedFile> = {}): ChangedFile => {
  const side = { mode: "100644", object: "0".repeat(40), size: 10 };
  return { id: path, path, status: "M", content: added === undefined ? "binary" : "text", old: side, new: side, ...(added !== undefined && { added, deleted: 0 }), ...more };
};

test("a small file behind twenty thousand lines of fixtures is opened, and the fixtures are not", () => {
  const files = [file("fixtures/data.txt", 20_000), file("src/auth.ts", 1)];
  expect([...openedAtOnce(files)]).toEqual(["src/auth.ts"]);
});
test("not more is opened at once than a page can take", () => {
  const files = Array.from({ length: 200 }, (_, at) => file(`f${at}`, 100));
  expect(openedAtOnce(files).size).toBe(14);
});
test("records of agents come after the work", () => {
  expect(ordered([file(".autonomous/plan.md", 1), file("src/a.ts", 1)]).map(({ path }) => path)).toEqual(["src/a.ts", ".autonomous/plan.md"]);
});
test("a path is found by all of the words", () => {
  expect(matching([file("src/auth.ts", 1), file("src/app.ts", 1)], "SRC auth").map(({ path }) => path)).toEqual(["src/auth.ts"]);
});
test("modes, links, submodules and binaries are told", () => {
  const side = (mode: string, target?: string) => ({ mode, object: "abcdef0123456789", size: 2048, ...(target !== undefined && { target }) });
  expect(about(file("a", 0, { old: side("100644"), new: side("100755") }))).toEqual(["file → executable"]);
  expect(about(file("a", 1, { status: "T", old: side("100644"), new: side("120000", "../x\u202e") }))).toEqual(["file → symlink", "to ../x\\u{202e}"]);
  expect(about(file("a", 1, { old: side("160000"), new: side("160000") }))).toEqual(["submodule", "commit abcdef012345 → abcdef012345"]);
  expect(about(file("a", undefined, { new: side("100644") }))).toEqual(["binary, 10 B → 2.0 KiB"]);
  expect(about(file("a", 1))).toEqual([]);
});
test("what was not opened is named", () => {
  expect(unopened(["a", "b\u200b"], 120)).toBe("2 of 120 files not opened: a, b\\u{200b}");
});
test("hidden characters are seen and others stay", () => {
  expect(reveal("a\u202eb\0c\u001b[2J\r\n\td")).toBe("a\\u{202e}b\\0c\\x1b[2J\\r\n\td");
  expect(pieces("Größe → 日本語 🎉")).toEqual([{ text: "Größe → 日本語 🎉", hidden: false }]);
});
test("the list of hidden characters is that of the other faces", () => {
  const rust = readFileSync(new URL("../../../crates/wire/src/hidden.rs", import.meta.url), "utf8");
  const listed = [...rust.slice(0, rust.indexOf("=> true")).matchAll(/'\\u\{([0-9a-f]+)\}'(?:\.\.='\\u\{([0-9a-f]+)\}')?/g)];
  expect(listed.length).toBeGreaterThan(10);
  const hidden = new Set<number>();
  for (const [, from = "", to = from] of listed) for (let code = parseInt(from, 16); code <= parseInt(to, 16); code += 1) hidden.add(code);
  for (let code = 0; code < 0x110000; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const wanted = (hidden.has(code) || control) && code !== 0x0a && code !== 0x09;
    if ((reveal(String.fromCodePoint(code)) !== String.fromCodePoint(code)) !== wanted) throw new Error(code.toString(16));
  }
});

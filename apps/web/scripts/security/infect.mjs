// A data directory in which strangers and agents have written hostile text wherever they can, through the real server:
// requests, plans, questions, options, answers, tools, files, diffs, checks, findings, feedback, reasons, channels.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { pinboard } from "../kit.mjs";
import { payloads } from "./payloads.mjs";

/** As TOML takes it: nothing but ASCII. */
const quoted = (text) => `"${[...text].map((one) => {
  const point = one.codePointAt(0);
  if (one === '"' || one === "\\") return `\\${one}`;
  return point >= 32 && point < 127 ? one : `\\U${point.toString(16).padStart(8, "0")}`;
}).join("")}"`;

const one = (text) => text.replace(/\s*\n\s*/g, " ");
// Half a character is no JSON, and no file or command of an agent has a NUL in its name.
const short = payloads.filter((text) => text.length < 300 && !/[\ud800-\udfff]|\0/u.test(text));
const packed = short.map(one).join(" ");
const lines = short.join("\n");
/** What people and strangers may send; control characters are refused at the door. */
const typed = lines.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, "");
// A plan's diagrams must parse, so the hostile ones among the payloads are told as tool output and the like.
const diagram = "```mermaid\nflowchart TD\n  A[\"<img class=canary src=x onerror=canary(1)>\"] -- \"<b class=canary>x</b>\" --> B[\"javascript:canary(1)\"]\n```";
const prose = short.filter((text) => !text.includes("```"));
const body = [
  "# Hostile", diagram, "```mermaid\nsequenceDiagram\n  A->>B: <script>canary(1)</script>\n```",
  ...prose.map((text) => `${text}\n`), ...prose.map((text) => `- ${one(text)}`), "", ...prose.map((text) => `> ${one(text)}`), "",
  ...prose.map((text) => `## ${one(text)}\n`), "| a | b |\n|---|---|", ...prose.map((text) => `| ${one(text).replaceAll("|", "\\|")} | x |`), "", "```js", prose.join("\n"), "```",
].join("\n");

const part = (role, ...turns) => `\n[[conversation]]\nrole = "${role}"\n${turns.join("")}`;
const turn = (tool, input, { text, thought } = {}) => `[[conversation.turn]]\n${text ? `text = ${quoted(text)}\n` : ""}${thought ? `thought = ${quoted(thought)}\n` : ""}[[conversation.turn.call]]\ntool = "${tool}"\n[conversation.turn.call.input]\n${Object.entries(input).map(([name, value]) => `${name} = ${written(value)}\n`).join("")}`;
function written(value) {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (value && typeof value === "object") return `{ ${Object.entries(value).map(([name, inner]) => `${name} = ${written(inner)}`).join(", ")} }`;
  return String(value);
}

const choices = [{ topic: packed, choice: packed, rationale: packed }];
const plan = part("planner", turn("read_file", { path: "README.md" }, { text: lines, thought: lines }), turn("submit_plan", { title: packed, body, decisions: choices }));
const asks = (responseType, options) => plan + part("implementer", turn("ask_questions", { questions: [{ question: lines, context: lines, responseType, ...(options && { options }) }] }), turn("complete_pulse", { summary: "done" }));
const file = "<img class=canary src=x onerror=canary(1)>.md";
const scripts = {
  plan,
  text: asks("text"),
  one: asks("single_choice", short.slice(0, 9).map(one)),
  several: asks("multiple_choice", short.slice(9, 30).map(one)),
  file: asks("file_upload"),
  danger: plan + part("implementer", turn("shell", { command: `git push --force origin '${one(short[5]).replaceAll("'", "")}'` }, { text: lines }), turn("complete_pulse", { summary: "done" })),
  code: plan + part("implementer", turn("write_file", { path: file, content: lines }, { text: lines, thought: lines }), turn("shell", { command: `cat '${file}' >&2; cat '${file}'` }), turn("complete_pulse", { summary: packed, decisions: choices }))
    + part("validator", turn("complete_review", { verdict: "fail", severity: "major", summary: lines, findings: short.slice(0, 40).map((text) => ({ message: text, place: one(text) })) })),
  broken: plan + part("implementer", '[[conversation.turn]]\nfault = { kind = "status", status = 401, times = 99 }\ntext = "x"\n'),
  discussion: part("discussion", turn("reply", { text: body })),
};

/** Everything a playbook, a check and a repository may be called. */
function repository(folder) {
  const place = pinboard(`${folder}/<svg class=canary onload=canary(1)>`);
  const check = { name: "<img class=canary src=x onerror=canary(1)>", command: `printf '%s\\n' '${lines.replaceAll("'", "")}'; exit 0` };
  writeFileSync(`${place}/.autonomous/config.json`, JSON.stringify({ checks: [check] }));
  mkdirSync(`${place}/.autonomous/skills`, { recursive: true });
  writeFileSync(`${place}/.autonomous/skills/hostile.md`, lines);
  execFileSync("git", ["-C", place, "add", "--all"]);
  execFileSync("git", ["-C", place, "-c", "user.name=<script>canary(1)</script>", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", packed.slice(0, 5000).replaceAll("\0", "")]);
  return place;
}

export function prepare(home) {
  mkdirSync(`${home}/scripts`, { recursive: true });
  for (const [name, text] of Object.entries(scripts)) writeFileSync(`${home}/scripts/hostile-${name}.toml`, text);
}

/** Starts the runs and waits until every one of them shows what it has. */
export async function infect(server, folder) {
  const project = repository(folder);
  const auto = { planning: "auto", implementation: "auto", fixes: "auto" };
  const start = (name, more = {}) =>
    server.api("/api/runs", { project, request: `${name}\n${typed}`, models: { "*": `scripted/hostile-${name}` }, trust: auto, ...more });
  const manual = (gate) => ({ trust: { ...auto, [gate]: "manual" } });
  const runs = {};
  for (const name of ["text", "one", "several", "file", "danger", "broken"]) runs[name] = await start(name);
  runs.plan = await start("plan", manual("planning"));
  runs.again = await start("plan", manual("planning"));
  runs.code = await start("code", manual("implementation"));
  runs.fix = await start("code", manual("fixes"));
  const held = (run) => server.until(run.id, (now) => now.hold);
  const kinds = {};
  for (const [name, run] of Object.entries(runs)) kinds[name] = (await held(run)).hold.kind;
  assert.deepEqual(kinds, { text: "clarification", one: "clarification", several: "clarification", file: "clarification", danger: "permission", broken: "model", plan: "approval", again: "approval", code: "approval", fix: "fix" });
  const decide = async (run, decision, fields) => {
    const now = await held(run);
    await server.api(`/api/runs/${run.id}/decide`, { decision, digest: now.hold.digest, hold: now.hold.id, ...fields });
  };
  await decide(runs.again, "suggest", { text: typed });
  await decide(await start("text"), "answer", { answer: [typed] });
  await decide(await start("plan", manual("planning")), "approve", { text: typed });
  await decide(await start("plan", manual("planning")), "reject", { text: typed });
  const gone = await start("one");
  await held(gone);
  await server.api(`/api/runs/${gone.id}/message`, { text: typed });
  await server.api(`/api/runs/${gone.id}/cancel`, { reason: typed });
  const channel = await server.api("/api/channels", { project, title: typed.slice(0, 3000) });
  await server.api(`/api/channels/${channel.id}/session`, { text: typed.slice(0, 3000), model: "scripted/hostile-discussion" });
  for (const name of short.slice(0, 10)) {
    await assert.rejects(server.api("/api/users", { name, role: "viewer" }), /bad_name/);
  }
  return runs;
}

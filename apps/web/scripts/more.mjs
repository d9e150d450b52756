// Adds to the world of `world.mjs` what the other screens show: a history of runs, a team at work, ways to one end, tasks,
// a channel. Its server is stopped and started again on the way. Usage: node scripts/more.mjs FOLDER HOLDPOINT-BINARY
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { owner, serve } from "./kit.mjs";

const [folder, binary] = process.argv.slice(2, 4).map((path) => resolve(path));
if (!folder || !binary) throw new Error("usage: node scripts/more.mjs FOLDER HOLDPOINT-BINARY");
const home = `${folder}/home`;
const repository = `${folder}/pinboard`;
const history = process.env.HISTORY ?? "90";

const call = (tool, input) => `[[conversation.turn]]\n[[conversation.turn.call]]\ntool = "${tool}"\ninput = ${input}\n`;
const part = (role, turns, when) => `\n[[conversation]]\nrole = "${role}"\n${when ? `when = ["${when}"]\n` : ""}${turns}\n`;
const writes = (path, text) => call("write_file", `{ path = "${path}", content = "${text}\\n" }`);
const done = call("complete_pulse", '{ summary = "It is there" }');
const passes = (role, says) => part(role, call("complete_review", `{ verdict = "pass", severity = "minor", summary = "${says}" }`));
const spec = (title, line) => call("submit_plan", `{ title = "${title}", body = "# ${title}\\n\\n${line}\\n\\n\`\`\`mermaid\\nflowchart LR\\n  A[GET /notes?q=] --> B[${title}] --> C[answer]\\n\`\`\`\\n" }`);
const tasks = [
  ["model", "Write the note model", "src/model.js", []], ["store", "Write the note store", "src/store.js", ["model"]], ["api", "Write the HTTP routes", "src/routes.js", ["store"]],
  ["page", "Write the board page", "src/page.js", ["model"]], ["docs", "Write the API docs", "docs/api.md", ["api"]], ["tests", "Write the end-to-end tests", "test/e2e.js", ["api", "page"]],
];
const plan = `{ summary = "Six parts, three of them at once", tasks = [${tasks.map(([id, title, file, after]) => `{ id = "${id}", title = "${title}", description = "All of ${file}.", files = ["${file}"], dependsOn = [${after.map((one) => `"${one}"`).join(", ")}] }`).join(", ")}] }`;
const grows = (lines) => call("edit_file", `{ path = "src/app.js", old_text = "export function listNotes(board) {", new_text = ${JSON.stringify(`${lines}\n\nexport function listNotes(board) {`)} }`);
const thinks = '[[conversation.turn]]\nthought = "The routes stay thin; the store knows the rules."\ntext = "I look at the store first."\n[[conversation.turn.call]]\ntool = "list_directory"\ninput = { path = "src" }\n[[conversation.turn]]\ndelay_ms = 3000000\ntext = "Now the handlers."\n';
const scripts = {
  team: part("architect", call("submit_plan", plan)) + tasks.map(([id, title, file]) => part("implementer", id === "page" || id === "api" ? thinks : writes(file, `// ${title}`) + done, title)).join("") + passes("reviewer", "As asked"),
  ways: part("planner", spec("An index in memory", "A map from word to notes, built when the server starts and kept up with every new note."), "an index in memory") + part("planner", spec("A scan of all notes", "Every note is read for every search. No new state, nothing to keep in step."), "a scan of all notes")
    + part("implementer", writes("src/search.js", "export const index = new Map();") + grows("export function search(board, word) {\n  return board.notes.filter((note) => note.text.includes(word));\n}") + done, "an index in memory") + part("implementer", grows("export const search = (board, word) => board.notes.filter((note) => note.text.toLowerCase().includes(word.toLowerCase()));") + done, "a scan of all notes")
    + part("validator", call("complete_review", '{ verdict = "pass", severity = "minor", summary = "Quick with many notes; the index is lost with the process." }'), "an index in memory") + part("validator", call("complete_review", '{ verdict = "pass", severity = "minor", summary = "Small and plain; slow with very many notes." }'), "a scan of all notes"),
  first: part("planner", spec("A page about search", "One page.")) + part("implementer", writes("docs/search.md", "# Search") + done) + passes("validator", "As planned"),
  second: part("planner", spec("A page about export", "One page.")) + part("implementer", writes("docs/export.md", "# Export") + done) + passes("validator", "As planned"),
  worker: part("worker", writes("docs/notes.md", "# Notes") + call("complete_pulse", '{ summary = "The page is written", look_at = "docs/notes.md", how_to_test = "read it" }')) + passes("reviewer", "Reads well"),
  answers: part("discussion", call("grep", '{ pattern = "notes" }') + call("reply", '{ text = "Notes are kept in an array in `src/app.js:3`. A request goes through `route()` in `src/app.js`, which picks a handler by method and path:\\n\\n1. `GET /notes` answers with all of them\\n2. `POST /notes` adds one and answers 201\\n\\nNothing is written to disk, so notes are gone when the process ends." }'), "Where are notes kept?") + part("discussion", `[[conversation.turn]]\ndelay_ms = 60000\ntext = "I look at the tests."\n` + call("reply", '{ text = "Yes." }')),
};
mkdirSync(`${home}/scripts`, { recursive: true });
for (const [name, text] of Object.entries(scripts)) writeFileSync(`${home}/scripts/${name}.toml`, text);

const until = async (ready) => {
  for (let tries = 0; tries < 600; tries += 1) {
    const found = await ready();
    if (found) return found;
    await pause(250);
  }
  throw new Error(`not there: ${ready}`);
};
const alive = (pid) => { try { return process.kill(pid, 0); } catch { return false; } };
const { api, info } = owner(home, binary);

/** Scripts and settings are read when a server starts; a history is made up while none runs. */
const restart = async (meanwhile) => {
  const { pid, url } = info();
  process.kill(pid, "SIGTERM");
  await until(() => !alive(pid));
  meanwhile();
  const server = await serve(home, binary, ["--port", new URL(url).port], { MAX_CONCURRENT_RUNS_PER_USER: "60" });
  writeFileSync(`${folder}/server.pid`, String(server.pid));
};
const auto = { planning: "auto", implementation: "auto", fixes: "auto" };
const held = (id) => until(async () => { const run = await api(`/api/runs/${id}`); return run.hold && run; });

await restart(() => writeFileSync(`${home}/config.toml`, 'budget_usd = 5.0\nmax_waiting_reviews = 40\n\n[models]\nplanner = "scripted/demo"\nimplementer = "scripted/demo"\nvalidator = "scripted/demo"\ndiscussion = "scripted/answers"\n'));
// What the history is made of: runs that people decided on.
for (const [request, model, wait] of [["Describe the search for integrators", "first", 600], ["Describe the export for integrators", "second", 2500]]) {
  const { id } = await api("/api/runs", { project: repository, request, models: { "*": `scripted/${model}` }, trust: { ...auto, planning: "manual" }, autoMerge: true });
  const { hold } = await held(id);
  await pause(wait);
  await api(`/api/runs/${id}/approve`, { digest: hold.digest });
  await until(async () => (await api(`/api/runs/${id}`)).completedAt);
}
await restart(() => execFileSync("python3", [new URL("history.py", import.meta.url).pathname, home, history], { stdio: "inherit" }));

const team = await api("/api/runs", { project: repository, request: "Rebuild the board in parts that can be tested alone", playbook: "team", skipClarification: true, models: { "*": "scripted/team" }, trust: auto });
const planned = await held(team.id);
await api(`/api/runs/${team.id}/approve`, { digest: planned.hold.digest });
const request = "Search that stays quick with a million notes";
const started = await api("/api/runs/variants", { run: { project: repository, request, models: { "*": "scripted/ways" }, trust: auto }, approaches: ["an index in memory", "a scan of all notes"] });
const ways = started.items.map((item) => item.run);
for (const [name, summary] of [["notes-page", "Write a page about notes"], ["search-page", "Write a page about search"]]) await api("/api/runs", { project: repository, request: summary, playbook: "task", task: { name }, models: { "*": "scripted/worker" } });
for (const [name, role] of [["grace", "reviewer"], ["vera", "viewer"]]) await api("/api/users", { name, role });
const channel = await api("/api/channels", { project: repository, title: "How notes are stored" });
await api(`/api/channels/${channel.id}/session`, { text: "Where are notes kept?" });
await until(async () => (await api(`/api/channels/${channel.id}`)).questions?.[0]?.answer);
await api("/api/channels", { project: repository, title: "What a search index would touch" });
for (const id of ways) await until(async () => (await api(`/api/runs/${id}`)).hold);
await until(async () => (await api(`/api/runs/${team.id}`)).tasks.filter((task) => task.status === "merged").length >= 2);
writeFileSync(`${folder}/more.json`, JSON.stringify({ team: team.id, ways, channel: channel.id }));
console.log(JSON.stringify({ team: team.id, ways, channel: channel.id }));
process.exit(0);

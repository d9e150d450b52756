// Pictures of every screen in light and dark, from a running server through `vite preview`; reports what the policy
// or the page complained about. Usage: node scripts/shots.mjs ADDRESS FOLDER [--axe]
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { chromium } from "playwright-core";

const [address, folder, ...options] = process.argv.slice(2);
if (!address || !folder) throw new Error("usage: node scripts/shots.mjs ADDRESS FOLDER [--axe]");
mkdirSync(folder, { recursive: true });
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const axe = options.includes("--axe") ? readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8") : undefined;
const only = options.find((option) => !option.startsWith("--"));
const complaints = [];

const get = async (path) => (await fetch(`${address}${path}`)).json();
// What `more.mjs` added, if it did.
const more = process.env.HOLDPOINT_HOME && existsSync(`${process.env.HOLDPOINT_HOME}/../more.json`) ? JSON.parse(readFileSync(`${process.env.HOLDPOINT_HOME}/../more.json`, "utf8")) : {};
const holds = await get("/api/holds");
const runs = await get("/api/runs?limit=200&roots=true");
const hold = (test) => holds.find(test);
const inbox = (name, test) => (hold(test) ? [[name, `/?hold=${encodeURIComponent(hold(test).id)}`]] : []);
const run = (test) => runs.find(test)?.id;
const screens = [
  ...inbox("inbox-plan", (one) => one.artifact?.type === "spec"),
  ...inbox("inbox-code", (one) => one.artifact?.type === "code"),
  ...inbox("inbox-fix", (one) => one.kind === "fix"),
  ...inbox("inbox-choice", (one) => one.responseType === "multiple_choice"),
  ...inbox("inbox-file", (one) => one.responseType === "file_upload"),
  ...inbox("inbox-permission", (one) => one.kind === "permission"),
  ["runs", "/runs"], ["board", "/runs?view=board"], ["tasks", "/runs?view=tasks"],
  ["run-session", `/runs/${run((one) => one.status === "running" && one.playbook === "autonomous") ?? runs[0].id}/session`],
  ["run-hold", `/runs/${hold((one) => one.kind === "fix")?.run ?? runs[0].id}`],
  ["run-artifacts", `/runs/${run((one) => one.status === "completed") ?? runs[0].id}/artifacts`],
  ["run-changes", `/runs/${hold((one) => one.artifact?.type === "code")?.run ?? runs[0].id}/changes`],
  ["run-spend", `/runs/${hold((one) => one.kind === "fix")?.run ?? runs[0].id}/spend`],
  ["run-events", `/runs/${hold((one) => one.kind === "fix")?.run ?? runs[0].id}/events`],
  ["run-rounds", `/runs/${hold((one) => one.kind === "fix")?.run ?? runs[0].id}/events`],
  ["run-fork", `/runs/${run((one) => /^Describe the export/.test(one.request)) ?? run((one) => one.status === "completed") ?? runs[0].id}`],
  ...(more.team ? [["run-team", `/runs/${more.team}`]] : []),
  ["new", "/new"],
  ["metrics", "/figures"], ["metrics-table", "/figures?view=table"],
  ...(more.ways ? [["compare", `/compare?runs=${more.ways.join(",")}`], ["compare-plans", `/compare?runs=${more.ways.join(",")}&show=plans`], ["compare-changes", `/compare?runs=${more.ways.join(",")}&show=changes`]] : []),
  ["compare-empty", "/compare"],
  ...(more.channel ? [["channel", `/channels/${more.channel}`]] : []), ["channel-new", "/channels/new"],
  ["settings-models", "/settings"], ["settings-people", "/settings/people"], ["settings-notifications", "/settings/notifications"], ["settings-projects", "/settings/projects"], ["settings-doctor", "/settings/doctor"],
  ["keys", "/runs"],
].filter(([name]) => !only || name.startsWith(only));

const browser = await chromium.launchPersistentContext(mkdtempSync(`${tmpdir()}/holdpoint-shots-`), { executablePath: "/usr/bin/chromium", args: flags, headless: true });
for (const [theme, width, height] of [["light", 1280, 800], ["dark", 1280, 800], ["light", 390, 844]]) {
  for (const [name, path] of screens) {
    const page = await browser.newPage();
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: theme });
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && !/api\/me/.test(message.location().url) && complaints.push(`${name}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(`${name}: ${error.message}`));
    await page.goto(`${address}${path}`);
    await page.waitForSelector(".connection.live", { state: "attached" });
    await page.waitForFunction(() => !document.querySelector(".loading") && document.querySelector(".panel-head h2")?.textContent !== " ");
    if (name === "new") {
      await page.fill("textarea", "Let people search their notes: GET /notes?q=word gives only the notes that contain the word");
      await page.waitForSelector("input[list=models]");
      for (const input of await page.locator("input[list=models]").all()) await input.fill("scripted/demo");
      await page.waitForSelector(".estimate strong");
      await page.evaluate(() => (document.activeElement.blur(), scrollTo(0, 0)));
    }
    if (name === "keys") await page.keyboard.press("?");
    if (name === "run-rounds") await page.click(".rounds-button");
    if (name === "run-fork") await page.click("text=Fork…").then(() => page.waitForSelector(".points"));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) complaints.push(`${name} at ${width}: ${wide} px too wide`);
    await page.screenshot({ path: `${folder}/${name}-${width === 390 ? "narrow" : theme}.png` });
    if (axe) {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      for (const { id, impact, nodes } of violations) complaints.push(`${name} ${theme} ${width}: axe ${impact} ${id}: ${nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")}`);
    }
    await page.close();
  }
}
await browser.close();
for (const complaint of new Set(complaints)) console.log(complaint);
console.log(`${screens.length * 3} pictures, ${complaints.length} complaints`);

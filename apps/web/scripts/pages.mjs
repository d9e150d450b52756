// Drives the screens beside the inbox in a real browser, as the server itself serves them, against the world of `world.mjs`
// and `more.mjs`: metrics, compare, channels, settings, a team, new variants. Needs a fresh world.
// Usage: node scripts/pages.mjs FOLDER HOLDPOINT-BINARY
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { browse, enter, owner, step } from "./kit.mjs";

const [folder, binary] = process.argv.slice(2);
if (!folder || !binary) throw new Error("usage: node scripts/pages.mjs FOLDER HOLDPOINT-BINARY");
const server = owner(`${folder}/home`, binary);
const { team, ways, channel } = JSON.parse(readFileSync(`${folder}/more.json`, "utf8"));
const { page, complaints, close } = await browse();
const at = (path) => page.goto(`${server.address}${path}`);
await enter(page, server);

await step("a chart is read week by week with the arrow keys, and a table says the same", async () => {
  await at("/figures");
  await page.waitForSelector(".chart");
  await page.focus(".chart");
  await page.keyboard.press("End");
  const said = await page.textContent(".chart figcaption p");
  const { weeks } = await server.api("/api/metrics");
  const { completed, failed, cancelled } = weeks.at(-1).figures;
  assert.match(said, new RegExp(`^Week of .*: done ${completed}, failed ${failed}, cancelled ${cancelled}$`));
  await page.click("text=Table");
  await page.waitForSelector("table th:has-text('Week of')");
  assert.equal(await page.locator("[aria-label='By week'] tbody tr").count(), weeks.length);
  return said;
});
await step("two runs are marked with keys and compared", async () => {
  await at("/runs");
  await page.waitForSelector(".run-row");
  for (const key of ["j", "x", "j", "x", "c"]) await page.keyboard.press(key);
  await page.waitForURL(/\/compare\?runs=[a-z0-9-]+,[a-z0-9-]+/);
  await page.waitForSelector(".side");
});
await step("what is looked for is found by the server, in runs that are not read yet too", async () => {
  await at("/runs");
  await page.waitForSelector(".run-row");
  await page.keyboard.press("/");
  await page.keyboard.type("pin");
  await page.waitForFunction(() => /^\d+ found$/.test(document.querySelector(".page-head .quiet").textContent));
});
await step("of two ways one is adopted as it was shown, and only then the other ends", async () => {
  await at(`/compare?runs=${ways.join(",")}`);
  await page.locator("text=Adopt…").first().click();
  const [approved] = await Promise.all([page.waitForRequest((one) => one.url().endsWith("/approve")), page.click("text=Adopt it")]);
  const { hold } = await server.api(`/api/runs/${ways[1]}`);
  assert.match(approved.postDataJSON().digest, /^[0-9a-f]{64}$/);
  assert.notEqual(approved.postDataJSON().digest, hold?.digest, "it is the digest of the one that was adopted");
  await server.until(ways[0], (run) => run.status === "completed");
  await server.until(ways[1], (run) => run.status === "cancelled");
});
await step("a question in a channel is answered while one looks", async () => {
  await at(`/channels/${channel}`);
  await page.fill(".ask-channel textarea", "And what <img src=x onerror=alert(1)> else?");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".answering .turn-items, .exchange:nth-of-type(2) .prose");
  assert.equal(await page.locator(".talk img").count(), 0);
});
await step("a model is tested for real", async () => {
  await at("/settings");
  await page.click("button[aria-label='Test scripted/demo']");
  await page.waitForSelector("td .tone-good");
  return page.textContent("td .tone-good");
});
await step("somebody is let in with a link that is shown once, and put out again", async () => {
  await at("/settings/people");
  await page.fill("input[placeholder=grace]", "linus");
  await page.click("text=Let them in");
  await page.waitForSelector(".given");
  assert.match(await page.textContent(".given code"), /\/login#/);
  await page.click("text=I have it");
  assert.equal(await page.locator(".given").count(), 0);
  const row = page.locator("tr:has-text('linus')");
  await row.locator("text=Revoke…").click();
  await row.locator("text=Yes, put linus out").click();
  await row.waitFor({ state: "detached" });
  assert.ok((await server.api("/api/users")).every(({ name }) => name !== "linus"));
});
await step("the doctor says what the command line says", async () => {
  await at("/settings/doctor");
  await page.waitForSelector(".findings-list");
  const told = await page.locator(".findings-list strong").allTextContents();
  const said = JSON.parse(server.command("doctor", "--json")).findings.map(({ name }) => name);
  assert.deepEqual(told.sort(), said.sort());
});
await step("a task of a team leads to its own run", async () => {
  await at(`/runs/${team}`);
  await page.locator("a.task-node").first().click();
  await page.waitForSelector("text=Works on task");
});
await step("comments on lines of the change send it back to the agent", async () => {
  const { run } = await server.hold((one) => one.artifact?.type === "code");
  await at(`/runs/${run}/changes`);
  await page.locator("button.number").first().click();
  await page.keyboard.type("Why is this here?");
  await page.keyboard.press("Control+Enter");
  const [sent] = await Promise.all([page.waitForRequest((one) => one.url().endsWith("/decide")), page.click("text=Send the work back")]);
  assert.match(sent.postDataJSON().text, /:\d+.*: Why is this here\?$/);
  await page.waitForSelector(".toast.tone-good");
});
await step("one request is started in two ways, and they are shown side by side", async () => {
  await at("/new");
  await page.fill("textarea", "Two ways to search");
  await page.waitForSelector("input[list=models]");
  for (const input of await page.locator("input[list=models]").all()) await input.fill("scripted/ways");
  await page.getByLabel("Variants").fill("2");
  await page.fill("textarea[placeholder*='index']", "an index in memory\na scan of all notes");
  await page.waitForSelector(".estimate strong");
  await page.click("button[type=submit]");
  await page.waitForURL(/\/compare\?runs=/);
  await page.waitForSelector("text=Way 2");
});
await step("a run that is over is gone on with from where it waited, and nothing is paid again", async () => {
  const [{ id }] = await server.api("/api/runs?q=Describe%20the%20export&limit=1");
  const points = await server.api(`/api/runs/${id}/checkpoints`);
  const place = points.findIndex(({ hold }) => hold?.allowed.includes("approve"));
  await at(`/runs/${id}`);
  await page.click("text=Fork…");
  await page.locator(".points label").nth(points.length - 1 - place).click();
  await page.getByLabel("What is decided there").selectOption("approve");
  const [asked] = await Promise.all([page.waitForRequest((one) => one.url().endsWith("/fork")), page.click("text=Start the fork")]);
  assert.equal(asked.postDataJSON().at, points[place].at);
  await page.waitForSelector("text=Begins where");
  const fork = /\/runs\/([a-z0-9-]+)/.exec(page.url())?.[1];
  const { forkedFrom } = await server.api(`/api/runs/${fork}`);
  assert.deepEqual(forkedFrom, { run: id, at: points[place].at });
  return `saves $${points[place].usd}`;
});
await step("a run is ended with a reason, which is recorded", async () => {
  await at(`/runs/${team}`);
  await page.click("text=Cancel…");
  await page.keyboard.type("enough seen");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".facts .status:has-text('Cancelled')");
  const events = await server.api(`/api/runs/${team}/events`);
  assert.equal(events.find(({ type }) => type === "RUN_CANCELLED").payload.reason, "enough seen");
});
await close();
assert.deepEqual(complaints, []);
console.log("nothing against the policy, no error in a page");

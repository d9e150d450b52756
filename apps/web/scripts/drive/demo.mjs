// The demo's whole story in one browser window that is never reloaded: started on the page for new runs, the plan
// approved, the question answered, a failing check repaired, validated, merged.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { decidable, live, sent, step } from "../kit.mjs";

export async function demo({ page }, server, repository, name) {
  const request = "Add a search: GET /notes?q=word gives only the notes that contain the word.";
  let run;
  await step(`${name}: a run is started on the page for new runs`, async () => {
    await page.goto(`${server.address}/`);
    await live(page);
    await page.evaluate(() => { globalThis.neverReloaded = true; });
    await page.click("nav a[href='/new']");
    await page.fill("textarea", request);
    await page.fill("input[list=projects]", repository);
    await page.waitForSelector("input[list=models]");
    for (const input of await page.locator("input[list=models]").all()) await input.fill("scripted/demo");
    await page.getByLabel("In the end").selectOption("merge");
    await page.waitForSelector(".estimate strong");
    await fits(page);
    await page.click("button[type=submit]");
    await page.waitForSelector(".rail");
    run = /\/runs\/([a-z0-9]{6}-[^/]+)/.exec(page.url())?.[1];
    assert.ok(run, page.url());
  });
  await step(`${name}: the plan comes by itself, with its diagram, and is approved`, async () => {
    await page.waitForSelector(".run-hold .diagram svg");
    await decidable(page);
    await fits(page);
    const { decision, digest } = await sent(page, () => page.click(".decide button:has-text('Approve')"));
    assert.equal(decision, "approve");
    assert.match(digest, /^[0-9a-f]{64}$/);
    await page.waitForSelector(".toast.tone-good");
  });
  await step(`${name}: the agent's question is answered`, async () => {
    await page.waitForSelector("text=Should");
    await page.click("text=Ignore upper and lower case");
    await fits(page);
    const { answer } = await sent(page, () => page.click(".answer button[type=submit]"));
    assert.deepEqual(answer, ["Ignore upper and lower case"]);
  });
  await step(`${name}: the agents are watched: messages, tools, the second round after the failed check`, async () => {
    await page.waitForSelector(".turn .tool, .tool");
    await page.waitForSelector(".stage:has-text('implementation') .stage-sub:has-text('round 2')");
    await fits(page);
  });
  await step(`${name}: it ends merged, and the page says so without having been reloaded`, async () => {
    await page.waitForSelector(".facts .status:has-text('Done')");
    const facts = await page.textContent(".run-head .facts");
    const head = execFileSync("git", ["-C", repository, "rev-parse", "main"]).toString();
    assert.match(facts, new RegExp(`merged as ${head.slice(0, 7)} into main`));
    assert.equal(await page.evaluate(() => globalThis.neverReloaded), true);
    await page.click(".tabs a:has-text('Changes')");
    await page.waitForSelector(".file:has-text('test/search.test.js')");
    await page.click(".tabs a:has-text('Events')");
    await page.waitForSelector(".events li:has-text('RUN_COMPLETED'), .events li:has-text('completed')");
    await fits(page);
    const events = await server.api(`/api/runs/${run}/events`);
    const by = events.filter(({ type }) => type === "APPROVAL_GRANTED").map(({ payload }) => payload.by.channel);
    assert.deepEqual(by, ["web"]);
  });
  return run;
}

/** Nothing sticks out at the side, whatever the width. */
export async function fits(page) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${page.url()} is ${wide} px too wide`);
}

// An agent hides a file behind a flood of fixtures and a script behind a NUL byte: the page lists them with true counts, and
// nobody approves what was not opened without being told.
import assert from "node:assert/strict";
import { sent, show, step } from "../kit.mjs";

export async function flood({ page }, server, repository) {
  const trust = { planning: "auto", implementation: "manual", fixes: "auto" };
  const { id } = await server.api("/api/runs", { project: repository, request: "Add fixtures for the export", models: { "*": "scripted/flood" }, trust });
  const held = await server.until(id, (run) => run.hold?.artifact?.type === "code");
  const file = (path) => page.locator(`.file:has(.path:text("${path}"))`);
  await step("a file behind a flood of fixtures is listed with true counts, and shown", async () => {
    await show(page, server, held.hold);
    await page.waitForSelector(".change-head");
    assert.match(await file("fixtures/notes.txt").locator("summary").textContent(), /\+20000 −0/);
    assert.match(await file("lib/auth.js").textContent(), /\+1 −0.*allowed = \(user\) => true/s);
    assert.match(await file("lib/deploy.sh").textContent(), /git calls it binary.*# \\0.*curl https:\/\/evil\.example/s);
    assert.match(await file("lib/trojan.js").textContent(), /\\u\{202e\}.*\\u\{2066\}/s);
    assert.match(await file("lib/readme").locator("summary").textContent(), /symlink.*to \.\.\/README\.md/);
    assert.match(await file("src/listen.js").locator("summary").textContent(), /moved.*src\/server\.js → src\/listen\.js/);
    assert.match(await file("src/app.js").locator("summary").textContent(), /file → executable/);
    assert.match(await file("lib/end.txt").textContent(), /no line end at the end of the file/);
    assert.match(await file("lib/logo.bin").textContent(), /binary, 2\.9 KiB.*SHA-256.*[0-9a-f]{64}/s);
    assert.equal(await page.locator(".hunks :text('fill a mebibyte')").count(), 0, "the flood is not opened by itself");
  });
  await step("the list is narrowed by words", async () => {
    await page.fill(".change-head input", "auth");
    assert.equal(await page.locator("details.file").count(), 1);
    await page.fill(".change-head input", "");
    await page.evaluate(() => document.activeElement.blur());
  });
  await step("a yes names what was not opened, and is asked for again", async () => {
    let asked = 0;
    page.on("request", (request) => { asked += request.url().endsWith("/decide") ? 1 : 0; });
    await page.keyboard.press("a");
    const told = await page.textContent(".unopened");
    assert.match(told, /^1 of \d+ files not opened: fixtures\/notes\.txt/);
    assert.equal(asked, 0, "nothing was sent");
    await page.click(".unopened >> text=Open them");
    await page.waitForSelector("text=Load more of this file");
    assert.match(await page.textContent(".unopened"), /1 of \d+ files not opened/, "a part of a file is not the file");
    // The button is there, disabled while it loads, until the last part has come.
    const more = page.locator(".file .more button");
    while (await more.count() > 0) await more.click().catch(() => undefined);
    await page.waitForSelector("text=Every file is open now.");
    const { decision, digest } = await sent(page, () => page.click(".unopened .weight-yes"));
    assert.deepEqual([decision, digest], ["approve", held.hold.digest]);
    await page.waitForSelector(".toast.tone-good");
  });
}

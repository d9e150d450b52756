// What waits is decided: a plan, every type of question, code with a comment on a line.
import assert from "node:assert/strict";
import { sent, show, step } from "../kit.mjs";

export async function inbox({ page }, server) {
  const { hold } = server;
  await step("a plan is approved with one key, bound to the digest on the screen", async () => {
    const one = await hold((at) => at.artifact?.type === "spec");
    await show(page, server, one);
    await page.waitForSelector(".diagram svg");
    const { decision, digest } = await sent(page, () => page.keyboard.press("a"));
    assert.deepEqual([decision, digest], ["approve", one.digest]);
    await page.waitForSelector(".toast.tone-good");
    assert.equal(await hold((at) => at.id === one.id), undefined);
  });
  await step("what changed since it was shown is not approved", async () => {
    const one = await hold((at) => at.artifact?.type === "spec");
    await show(page, server, one);
    await page.route("**/decide", async (route) => {
      await server.api(`/api/runs/${one.run}/decide`, { decision: "suggest", digest: one.digest, text: "Name the edge cases." });
      await server.until(one.run, (run) => run.hold && run.hold.digest !== one.digest);
      await route.continue();
    });
    await page.keyboard.press("a");
    await page.waitForSelector(".toast.tone-bad");
    assert.equal(await page.locator(".toast.tone-good").count(), 0, "nothing is called done");
    await page.unroute("**/decide");
    const now = await hold((at) => at.run === one.run);
    assert.equal(now.kind, "approval", "it waits as before, with another digest");
  });
  await step("one option is chosen with a digit", async () => {
    const one = await hold((at) => at.responseType === "single_choice");
    await show(page, server, one);
    await page.keyboard.press("1");
    const { answer } = await sent(page, () => page.click(".answer button[type=submit]"));
    assert.deepEqual(answer, [one.options[0]]);
    await page.waitForSelector(".toast.tone-good");
  });
  await step("several options are chosen with digits", async () => {
    const one = await hold((at) => at.responseType === "multiple_choice");
    await show(page, server, one);
    for (const key of ["1", "3"]) await page.keyboard.press(key);
    const { answer } = await sent(page, () => page.click(".answer button[type=submit]"));
    assert.deepEqual(answer, [one.options[0], one.options[2]]);
    await page.waitForSelector(".toast.tone-good");
  });
  await step("keys typed into an answer are text, and Ctrl Enter sends it", async () => {
    const one = await hold((at) => at.responseType === "text");
    await show(page, server, one);
    await page.keyboard.press("a");
    await page.keyboard.type("a raj? <img src=x onerror=alert(1)>");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".toast.tone-good");
    await page.goto(`${server.address}/runs/${one.run}/events`);
    await page.waitForSelector(".events li");
    assert.equal(await page.locator("img").count(), 0);
  });
  await step("a file is sent with its name and content", async () => {
    const one = await hold((at) => at.responseType === "file_upload");
    await show(page, server, one);
    await page.setInputFiles("input[type=file]", { name: "sample.csv", mimeType: "text/csv", buffer: Buffer.from("a;b\n1;2\n") });
    const { answer } = await sent(page, () => page.click(".answer button[type=submit]"));
    assert.deepEqual(answer, ["sample.csv", "a;b\n1;2\n"]);
    await page.waitForSelector(".toast.tone-good");
  });
  await step("code is sent back with a comment on a line, which the agent is told", async () => {
    const one = await hold((at) => at.artifact?.type === "code");
    await show(page, server, one);
    await page.click("button[aria-label='Comment on src/app.js:22']");
    await page.keyboard.type("Lower the note's text too.");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".comment");
    await page.keyboard.press("r");
    await page.waitForSelector(".ask textarea");
    const { decision, text } = await sent(page, () => page.keyboard.press("Control+Enter"));
    assert.equal(decision, "reject");
    assert.match(text, /src\/app\.js:22: Lower the note's text too\./);
    await page.waitForSelector(".toast.tone-good");
    await server.until(one.run, (run) => run.hold?.artifact?.version === 2);
    const events = await server.api(`/api/runs/${one.run}/events`);
    assert.match(JSON.stringify(events.filter(({ type }) => /REJECTED/.test(type))), /src\/app\.js:22/);
  });
}

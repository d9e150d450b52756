// Two people, each with a browser and a login of their own, decide on one hold in the same moment.
import assert from "node:assert/strict";
import { browse, enter, sent, show, step } from "../kit.mjs";

export async function race(first, server) {
  server.command("user", "add", "grace", "--role", "reviewer");
  const second = await browse();
  await enter(second.page, server, "grace");
  const pages = [first.page, second.page];
  await step("two people decide in the same moment: one wins, the other is told who", async () => {
    const one = await server.hold((at) => at.artifact?.type === "spec");
    await Promise.all(pages.map((page) => show(page, server, one)));
    // Both requests are on their way before either arrives.
    let ready;
    let waiting = 0;
    const both = new Promise((resolve) => { ready = resolve; });
    for (const page of pages) await page.route("**/decide", async (route) => {
      waiting += 1;
      if (waiting === pages.length) ready();
      await both;
      await route.continue();
    });
    const decided = await Promise.all(pages.map((page) => sent(page, () => page.keyboard.press("a"))));
    assert.deepEqual(decided.map(({ digest }) => digest), [one.digest, one.digest]);
    const tones = await Promise.all(pages.map(async (page) => (await page.waitForSelector(".toast")).getAttribute("class")));
    assert.deepEqual([...tones].sort(), ["toast tone-bad", "toast tone-good"]);
    const events = await server.api(`/api/runs/${one.run}/events`);
    const granted = events.filter(({ type }) => type === "APPROVAL_GRANTED");
    assert.equal(granted.length, 1, "it counts once");
    const winner = granted[0].payload.by.name;
    const loser = pages[tones.indexOf("toast tone-bad")];
    const told = await loser.textContent(".toast.tone-bad");
    assert.match(told, new RegExp(`\\b${winner}\\b`), "the second is told who was first");
    assert.equal(tones.indexOf("toast tone-good"), winner === "grace" ? 1 : 0);
    for (const page of pages) await page.unroute("**/decide");
    return told.slice(0, 120);
  });
  await step("who may only look is offered no decision, and what is open ends when they are revoked", async () => {
    server.command("user", "add", "vic", "--role", "viewer");
    const third = await browse();
    await enter(third.page, server, "vic");
    const one = (await server.api("/api/holds"))[0];
    await third.page.goto(`${server.address}/?hold=${encodeURIComponent(one.id)}`);
    await third.page.waitForSelector("text=You may look");
    assert.equal(await third.page.locator(".decide").count(), 0);
    server.command("user", "revoke", "vic");
    await third.page.reload();
    await third.page.waitForSelector("text=holdpoint open");
    await third.close();
  });
  await second.close();
  return second.complaints;
}

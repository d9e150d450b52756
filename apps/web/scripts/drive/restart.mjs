// The server is killed while a page is open, and comes back: the page notices both by itself, calls nothing live or done
// that is not, and shows what happened meanwhile.
import assert from "node:assert/strict";
import { live, show, step } from "../kit.mjs";

export async function restart({ page }, server) {
  let sockets = 0;
  page.on("websocket", () => { sockets += 1; });
  const one = await server.hold((at) => at.kind === "approval" || at.kind === "fix");
  await step("a server that goes away is noticed at once, and a decision without it is not called done", async () => {
    await show(page, server, one);
    await page.evaluate(() => { globalThis.neverReloaded = true; });
    server.kill();
    await page.waitForSelector(".connection.lost", { state: "attached" });
    assert.equal(await page.locator(".connection.live").count(), 0);
    const word = one.allowed.includes("approve") ? "Approve" : "Cancel";
    await page.click(`.decide button:has-text('${word}')`);
    const confirm = page.locator(".ask button[type=submit]");
    if (await confirm.count()) await confirm.click();
    await page.waitForSelector("text=The server does not answer");
    assert.equal(await page.locator(".toast.tone-good").count(), 0);
  });
  await step("it comes back, and the page goes on by itself with what happened meanwhile", async () => {
    await server.again();
    const waiting = await server.api("/api/holds");
    const other = waiting.find(({ id }) => id !== one.id);
    await server.api(`/api/runs/${other.run}/cancel`, { reason: "decided elsewhere while the page was away" });
    await live(page);
    assert.equal(await page.evaluate(() => globalThis.neverReloaded), true);
    const left = (await server.api("/api/holds")).map(({ id }) => `hold-${id}`);
    await page.waitForFunction((id) => !document.getElementById(id), `hold-${other.id}`);
    await page.waitForFunction((count) => document.querySelector(".list-head .quiet")?.textContent === `${count} waiting`, left.length);
    assert.ok(left.includes(`hold-${one.id}`), "what was not decided still waits");
  });
  await step("a hold placed while the page is open appears by itself, and goes when it is over", async () => {
    const { project } = (await server.api("/api/runs?limit=1"))[0];
    const count = sockets;
    const run = await server.api("/api/runs", { project, request: "A run that nobody reloads for", models: { "*": "scripted/text" }, trust: { planning: "auto", implementation: "auto", fixes: "auto" } });
    await page.waitForSelector("text=A run that nobody reloads for");
    assert.equal(sockets, count, "no reconnect was needed");
    await server.api(`/api/runs/${run.id}/cancel`, {});
    await page.waitForFunction(() => !document.body.textContent.includes("A run that nobody reloads for"));
  });
}

// A browser becomes known by a link that works once, and by nothing else.
import assert from "node:assert/strict";
import { enter, step } from "../kit.mjs";

export async function login({ browser, page }, server) {
  await step("a browser without a login is told what to do", async () => {
    await page.goto(`${server.address}/`);
    await page.waitForSelector("text=holdpoint open");
  });
  await step("a link logs it in once, and nothing of it stays in the address", async () => {
    const link = await enter(page, server);
    assert.deepEqual([new URL(page.url()).pathname, new URL(page.url()).hash], ["/", ""]);
    const [cookie] = await browser.cookies();
    assert.deepEqual([cookie.name, cookie.httpOnly, cookie.sameSite], ["holdpoint", true, "Strict"]);
    const again = await fetch(`${server.address}/api/login`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code: new URL(link).hash.slice(1) }) });
    assert.equal(again.status, 401, "the code was used");
  });
}

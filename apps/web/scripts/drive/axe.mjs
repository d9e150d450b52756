// What axe finds on every screen, light, dark and narrow.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { step, walk } from "../kit.mjs";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function axe({ page }, server) {
  for (const [name, colorScheme, width, height] of [["light", "light", 1280, 800], ["dark", "dark", 1280, 800], ["narrow", "light", 390, 844]]) {
    await step(`axe finds nothing serious on any screen, ${name}`, async () => {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      const found = new Set();
      const screens = await walk(page, server, 2, async (address) => {
        await page.evaluate(source);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
        for (const { id, impact, nodes } of violations) if (impact === "serious" || impact === "critical") found.add(`${address}: ${impact} ${id}: ${nodes.slice(0, 2).map((node) => node.target.join(" ")).join(" | ")}`);
      });
      assert.deepEqual([...found], []);
      return `${screens.length} screens`;
    });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: null });
}

// The dashboard over very many runs, measured by the browser's own clocks: first paint, what a key or a click takes until
// it is seen, scrolling, a live change. The data directory is one that `crowd` made.
// Usage: node scripts/large.mjs HOME HOLDPOINT-BINARY; starts a server on HOME and ends it.
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { browse, enter, live, owner, serve } from "./kit.mjs";

const [home, binary] = process.argv.slice(2, 4).map((path) => resolve(path));
if (!home || !binary) throw new Error("usage: node scripts/large.mjs HOME HOLDPOINT-BINARY");
const ROUNDS = 5;
const rows = [];
let missed = 0;
const middle = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
/** One line of the table: the middle and the worst of some times, beside the most it may be. */
function note(what, all, most, unit = "ms") {
  const [mid, worst] = [middle(all), Math.max(...all)];
  const met = most === undefined ? "" : mid <= most ? "met" : "MISSED";
  if (met === "MISSED") missed += 1;
  rows.push([what, `${mid.toFixed(0)} ${unit}`, `${worst.toFixed(0)} ${unit}`, most === undefined ? "" : `${most} ${unit}`, met]);
}

const dist = new URL("../dist/", import.meta.url).pathname;
const packed = readdirSync(dist, { recursive: true }).map(String).filter((name) => /\.(js|css|html)$/.test(name)).map((name) => gzipSync(readFileSync(`${dist}${name}`)).length);
note("bundle, gzip: scripts, styles, page", [packed.reduce((sum, size) => sum + size, 0) / 1000], 350, "kB");

const { pid } = await serve(home, binary, [], { HOLDPOINT_LOG: "warn" });
try {
  const server = owner(home, binary);
  const listed = await timed(() => fetch(`${server.address}/api/runs?limit=1000`, { headers: server.headers }).then((answer) => answer.text()));
  note("server: 1,000 runs", [listed], 100);
  note("server: all holds", [await timed(() => fetch(`${server.address}/api/holds`, { headers: server.headers }).then((answer) => answer.text()))], 100);
  const { browser, page, close } = await browse();
  await enter(page, server);
  await browser.addInitScript(() => {
    globalThis.paints = [];
    new PerformanceObserver((list) => globalThis.paints.push(...list.getEntries().map((one) => one.startTime))).observe({ type: "largest-contentful-paint", buffered: true });
    globalThis.events = [];
    new PerformanceObserver((list) => globalThis.events.push(...list.getEntries().map(({ name, duration }) => ({ name, duration })))).observe({ type: "event", durationThreshold: 16, buffered: true });
  });
  for (const [name, path, there] of [["inbox", "/", ".inbox-list .row"], ["runs", "/runs", ".run-row"], ["board", "/runs?view=board", ".card"], ["a run", `/runs/${(await server.api("/api/runs?limit=1"))[0].id}`, ".rail"]]) {
    const [largest, shown] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      const fresh = await browser.newPage();
      await fresh.goto(`${server.address}${path}`);
      shown.push(await seen(fresh, `document.querySelector(${JSON.stringify(there)})`));
      await live(fresh);
      await fresh.waitForTimeout(300);
      largest.push(await fresh.evaluate(() => Math.max(0, ...globalThis.paints)));
      await fresh.close();
    }
    note(`${name}: largest contentful paint`, largest, 1000);
    note(`${name}: its rows are there`, shown, 1000);
  }

  await page.goto(`${server.address}/runs`);
  await page.waitForSelector(".run-row");
  const every = (test) => `(() => { const all = [...document.querySelectorAll(".run-row")]; return all.length > 0 && all.every((one) => ${test}); })()`;
  await acted(page, "runs: search, from the last letter to the list", () => page.keyboard.type("1"), every("one.textContent.includes('customer 9321')"), () => page.fill("input[type=search]", ""), () => page.fill("input[type=search]", "customer 932"));
  await acted(page, "runs: filter by status", () => page.selectOption("select[aria-label=Status]", "awaiting_approval"), every("one.textContent.includes('Needs a decision')"), () => page.selectOption("select[aria-label=Status]", ""));
  await acted(page, "runs: list to board", () => page.click("text=Board"), "document.querySelector('.card')", () => page.click("text=List"));
  await acted(page, "runs: next with j", () => page.keyboard.press("j"), "document.querySelector('.run-row.selected')", async () => page.reload().then(() => page.waitForSelector(".run-row")));
  await acted(page, "runs: open a run", () => page.click(".run-row >> nth=3"), "document.querySelector('.rail')", () => page.goBack());
  await page.waitForSelector(".run-row");
  note("runs: scrolled through, longest frame", await scrolled(page, ".rows"), 100);

  await page.goto(`${server.address}/`);
  await page.waitForSelector(".row.selected");
  await page.waitForTimeout(2000);
  const next = [];
  for (let round = 0; round < 10; round += 1) {
    const before = await page.getAttribute(".row.selected", "id");
    next.push(await action(page, () => page.keyboard.press("j"), `document.querySelector('.row.selected') && document.querySelector('.row.selected').id !== ${JSON.stringify(before)}`));
  }
  note("inbox: next with j", next, 100);
  note("inbox: scrolled through, longest frame", await scrolled(page, ".rows"), 100);
  const changes = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = (await page.getAttribute(".row >> nth=1", "id")).slice("hold-".length);
    const run = id.split(".")[0];
    const began = Date.now();
    const gone = page.waitForFunction((row) => !document.getElementById(row) && Date.now(), `hold-${id}`, { polling: "raf" });
    await server.api(`/api/runs/${run}/cancel`, { reason: "measured" });
    changes.push((await (await gone).jsonValue()) - began);
  }
  note("a decision elsewhere, until it is seen", changes, 250);
  const slow = await page.evaluate(() => globalThis.events.filter(({ duration }) => duration > 100));
  note("inbox: keys that took over 100 ms to the next paint (Event Timing)", [slow.length], 0, "");
  await close();
} finally {
  process.kill(pid);
}
const width = [0, 1, 2, 3].map((at) => Math.max(...rows.map((row) => row[at].length), ["what", "middle", "worst", "bar"][at].length));
for (const row of [["what", "middle", "worst", "bar", ""], ...rows]) console.log(row.map((cell, at) => (at === 0 ? cell.padEnd(width[0]) : cell.padStart(width[at] ?? 0))).join("  "));
process.exit(missed > 0 ? 1 : 0);

async function timed(does) {
  const began = performance.now();
  await does();
  return performance.now() - began;
}

/** When a condition became true, by the page's clock, looked at in every frame. */
function seen(page, condition) {
  return page.evaluate(`new Promise((resolve) => {
    const look = () => ((${condition}) ? resolve(performance.now()) : requestAnimationFrame(look));
    look();
  })`);
}

/** From a real key or click, as the page gets it, to the frame in which its effect is there. */
async function action(page, does, condition) {
  await page.evaluate(`void (globalThis.acted = new Promise((resolve) => {
    const names = ["keydown", "pointerdown", "change"];
    const begin = (event) => {
      for (const name of names) removeEventListener(name, begin, true);
      const look = () => requestAnimationFrame((${condition}) ? () => resolve(performance.now() - event.timeStamp) : look);
      look();
    };
    for (const name of names) addEventListener(name, begin, true);
  }))`);
  await does();
  return page.evaluate("globalThis.acted");
}

async function acted(page, what, does, condition, back, before = async () => undefined) {
  const all = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await before();
    all.push(await action(page, does, condition));
    await back();
    await page.waitForTimeout(300);
  }
  note(what, all, 100);
}

/** The longest frame while a list is scrolled from end to end, once for each round. */
async function scrolled(page, list) {
  const longest = [];
  for (let round = 0; round < 3; round += 1) {
    longest.push(await page.evaluate((selector) => new Promise((resolve) => {
      const box = document.querySelector(selector);
      const [steps, height] = [120, box.scrollHeight - box.clientHeight];
      let [at, last, most] = [0, performance.now(), 0];
      const move = (now) => {
        most = at > 1 ? Math.max(most, now - last) : 0;
        last = now;
        box.scrollTop = (height * at) / steps;
        at += 1;
        if (at <= steps) requestAnimationFrame(move);
        else resolve(most);
      };
      requestAnimationFrame(move);
    }), list));
  }
  return longest;
}

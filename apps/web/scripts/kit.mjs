// What every script that drives the dashboard needs: the server of a data directory, a browser that notes whatever it
// complains about, and words for what held.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { chromium } from "playwright-core";

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const demo = new URL("../../cli/demo/", import.meta.url).pathname;

/** Starts a server that outlives this script; resolves when it answers. */
export async function serve(home, binary, options = [], environment = {}) {
  const log = openSync(`${home}/../server.log`, "a");
  const server = spawn(binary, ["serve", "--agents", "12", ...options], {
    detached: true, stdio: ["ignore", log, log],
    env: { ...process.env, HOLDPOINT_HOME: home, MAX_CONCURRENT_RUNS_PER_USER: "30", ...environment },
  });
  server.unref();
  for (let tries = 0; ; tries += 1) {
    const info = existsSync(`${home}/server.json`) ? JSON.parse(readFileSync(`${home}/server.json`, "utf8")) : {};
    if (info.pid === server.pid && (await fetch(`${info.url}/healthz`).catch(() => undefined))?.ok) return info;
    if (tries > 300) throw new Error("the server does not come up");
    await pause(50);
  }
}

/** The server of a data directory as its owner sees it. */
export function owner(home, binary) {
  const info = () => JSON.parse(readFileSync(`${home}/server.json`, "utf8"));
  const address = info().url.replace(/\/$/, "");
  const token = readFileSync(`${home}/token`, "utf8").trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const api = async (path, body) => {
    const answer = await fetch(`${address}${path}`, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
    const said = await answer.json();
    if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(said)}`);
    return said;
  };
  const command = (...words) => execFileSync(binary, words, { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, HOLDPOINT_HOME: home } }).toString().trim();
  const until = async (id, ready) => {
    for (let tries = 0; tries < 480; tries += 1) {
      const run = await api(`/api/runs/${id}`);
      if (ready(run)) return run;
      await pause(125);
    }
    throw new Error(`run ${id} does not get there`);
  };
  return {
    home, binary, address, token, headers, api, command, until, info,
    hold: async (test) => (await api("/api/holds")).find(test),
    /** What is stored, in a line: whatever changes a run, a user or a channel changes it. */
    mark: async () => JSON.stringify([
      (await api("/api/runs?limit=1000")).map(({ id, version }) => `${id} ${version}`).sort(),
      await api("/api/users"), (await api("/api/channels")).map(({ id, updatedAt }) => `${id} ${updatedAt}`),
    ]),
    kill: () => process.kill(info().pid, "SIGKILL"),
    again: () => serve(home, binary, ["--port", new URL(address).port]),
  };
}

/** A repository of its own, for a run that merges into it. */
export function pinboard(folder) {
  if (existsSync(folder)) return folder;
  mkdirSync(folder, { recursive: true });
  cpSync(`${demo}repo`, folder, { recursive: true });
  const git = (...words) => execFileSync("git", ["-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...words]);
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message=A tiny board of notes");
  return folder;
}

/** A browser with a profile of its own. Whatever its pages complain about is in `complaints`. */
export async function browse({ width = 1280, height = 800, args = [] } = {}) {
  const profile = mkdtempSync(`${tmpdir()}/holdpoint-browser-`);
  const browser = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...flags, ...args], headless: true, viewport: { width, height } });
  const complaints = [];
  await browser.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => console.error(`policy violated: ${violatedDirective} ${blockedURI}`));
  });
  const look = (page) => {
    page.on("console", (message) => /Content Security Policy|policy violated|canary/.test(message.text()) && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => (complaints.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  };
  for (const page of browser.pages()) look(page);
  browser.on("page", look);
  const page = browser.pages()[0] ?? (await browser.newPage());
  return { browser, page, complaints, close: () => browser.close() };
}

/** Logs a browser in with a link that works once. */
export async function enter(page, server, user) {
  const link = user ? server.command("open", "--user", user) : server.command("open");
  await page.goto(link);
  await live(page);
  return link;
}

export const live = (page) => page.waitForSelector(".connection.live", { state: "attached" });

/** Opens a hold and waits until it can be decided. */
export async function show(page, server, one) {
  await page.goto(`${server.address}/?hold=${encodeURIComponent(one.id)}`);
  await live(page);
  await decidable(page);
}

/** Keys are not taken in the first moment: they may have been meant for the hold before. */
export async function decidable(page) {
  await page.waitForSelector(".decide button:not(:disabled)");
  await page.waitForSelector(".decide[data-takes-keys=true]");
}

/** The decision the page sends while something is done. */
export async function sent(page, does) {
  const [request] = await Promise.all([page.waitForRequest((one) => one.url().endsWith("/decide")), does()]);
  return request.postDataJSON();
}

/** An address with what is particular left out. */
export const form = (address) => address.replace(/\/[a-z0-9]{6}-[^/?]*/, "/*").replace(/hold=.*/, "hold");

/** Goes to every screen the pages lead to, at most so many of each form, and to what waits; says where it was. */
export async function walk(page, server, most, visit) {
  const holds = (await server.api("/api/holds")).map(({ id }) => `/?hold=${encodeURIComponent(id)}`);
  const queue = ["/", "/runs", "/runs?view=board", "/new", "/login", "/nowhere", ...holds];
  const times = new Map();
  const seen = new Set();
  while (queue.length > 0) {
    const address = queue.shift();
    const kind = form(address);
    if (seen.has(address) || (times.get(kind) ?? 0) >= (kind === "/?hold" ? 30 : most)) continue;
    seen.add(address);
    times.set(kind, (times.get(kind) ?? 0) + 1);
    await page.goto(`${server.address}${address}`);
    await settled(page);
    await visit(address);
    queue.push(...(await page.evaluate(() => [...document.querySelectorAll("a[href^='/']")].map((one) => one.getAttribute("href")))));
  }
  return [...seen];
}

export const settled = (page) => page.waitForFunction(() => !document.querySelector(".loading"), undefined, { timeout: 20_000 });

export async function step(name, does) {
  const began = Date.now();
  const said = await does();
  console.log(`✓ ${name}${said ? ` (${said})` : ""} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}

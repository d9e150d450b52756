// A page of somebody else, on another port of this machine and under other names, open in the browser that is logged in.
// It asks the API for everything it can think of. The browser sends the cookie along (ports are one site to it): the
// server alone stands in between. Nothing may change and nothing may be read.
import assert from "node:assert/strict";
import http from "node:http";
import { step } from "../kit.mjs";

/** Every change the API knows, from its own document, for a run that exists. */
async function changes(server, run, hold) {
  const { paths } = await server.api("/api/openapi.json");
  const fill = (path) => path.replace(/^(\/api\/(?:runs|workflows|tasks)\/)\{id\}/, `$1${run}`).replace("/clarifications/{id}", `/clarifications/${hold.id}`).replace("{name}", "grace").replace("{number}", "1").replace("{id}", "abc");
  const all = [];
  for (const [path, item] of Object.entries(paths)) for (const method of ["get", "post", "put", "patch", "delete"]) if (item[method]) all.push({ method: method.toUpperCase(), path: fill(path) });
  assert.ok(all.length > 70, `${all.length}`);
  return all;
}

const bodies = (hold, project) => ({
  decision: "approve", digest: hold.digest, hold: hold.id, answer: ["yes"], reason: "x", text: "x", feedback: "x",
  project, request: "run by another page", models: { "*": "scripted/demo" }, name: "mallory", role: "admin", question: "x", everywhere: true,
});

/** Runs in the hostile page. Says how each try ended, as far as that page can tell. */
async function attack({ address, routes, body }) {
  const told = [];
  const text = JSON.stringify(body);
  const note = (how, path, what) => told.push({ how, path, what });
  const tried = async (how, path, does) => note(how, path, await does().then((one) => one, (error) => `refused: ${error.name}`));
  for (const { method, path } of routes) {
    const url = `${address}${path}`;
    if (method === "GET") {
      await tried("read", path, async () => {
        const answer = await fetch(url, { credentials: "include" });
        return `READ ${(await answer.text()).length}`;
      });
      await tried("read no-cors", path, async () => `${(await fetch(url, { mode: "no-cors", credentials: "include" })).type} ${0}`);
      continue;
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json", ""])
      await tried(`no-cors ${type}`, path, async () => (await fetch(url, { method: "POST", mode: "no-cors", credentials: "include", body: text, headers: type ? { "content-type": type } : {} })).type);
    await tried("json", path, async () => `READ ${(await fetch(url, { method, mode: "cors", credentials: "include", body: text, headers: { "content-type": "application/json" } })).status}`);
    await tried("blob", path, async () => (await fetch(url, { method: "POST", mode: "no-cors", credentials: "include", body: new Blob([text], { type: "application/json" }) })).type);
    await tried("beacon", path, async () => String(navigator.sendBeacon(url, new Blob([text], { type: "text/plain" }))));
    await tried("named method", path, async () => `READ ${(await fetch(`${url}?_method=POST`, { method: "GET", credentials: "include", headers: { "x-http-method-override": "POST" } })).status}`);
  }
  return told;
}

/** A form of the hostile page, sent as forms are: into a frame, with the cookie. */
async function submitForms({ address, routes, body }) {
  for (const { path } of routes.filter(({ method }) => method !== "GET")) {
    for (const kind of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      const frame = document.createElement("iframe");
      frame.name = `f${Math.random()}`;
      const form = document.createElement("form");
      Object.assign(form, { method: "post", action: `${address}${path}`, enctype: kind, target: frame.name });
      // As plain text, name and value make one JSON text.
      const field = document.createElement("input");
      field.name = kind === "text/plain" ? `${JSON.stringify(body).slice(0, -1)},"x":"` : "digest";
      field.value = kind === "text/plain" ? '"}' : body.digest;
      form.append(field);
      document.body.append(frame, form);
      const loaded = new Promise((resolve) => { frame.onload = resolve; });
      form.submit();
      await loaded;
      frame.remove();
      form.remove();
    }
  }
}

/** Sockets of the hostile page: what it was told before it was closed. */
const listen = ({ address, token }) => Promise.all(["/api/live", "/api/live?after=0", "/api/channels/abc/live"].flatMap((path) => [undefined, ["holdpoint"], ["holdpoint", `bearer.${token}`]].map((protocols) => new Promise((resolve) => {
  const socket = new WebSocket(address.replace("http", "ws") + path, protocols);
  const heard = [];
  socket.onmessage = ({ data }) => heard.push(String(data).slice(0, 80));
  socket.onopen = () => heard.push("OPEN");
  socket.onclose = () => resolve(heard);
}))));

/** Frames and windows of ours in the hostile page, scripts and pictures of the API. */
const embed = ({ address }) => Promise.all(["iframe", "script", "img", "object"].map((tag) => new Promise((resolve) => {
  const one = document.createElement(tag);
  one[tag === "object" ? "data" : "src"] = `${address}${tag === "iframe" || tag === "object" ? "/" : "/api/runs"}`;
  const done = (word) => () => {
    let text = "";
    try { text = one.contentDocument?.body?.textContent ?? ""; } catch { text = ""; }
    resolve(`${tag} ${word} ${text.length}`);
  };
  one.onload = done("loaded");
  one.onerror = done("refused");
  document.body.append(one);
})));

/** Every answer of the server, also those that the browser keeps from the page, and which requests had the cookie. */
async function overheard(page, address) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Network.enable");
  const paths = new Map();
  const [answers, cookies] = [[], new Set()];
  devtools.on("Network.requestWillBeSent", ({ requestId, request }) => request.url.startsWith(address) && paths.set(requestId, new URL(request.url).pathname));
  devtools.on("Network.requestWillBeSentExtraInfo", ({ requestId, headers }) => /holdpoint=/.test(headers.Cookie ?? "") && cookies.add(requestId));
  devtools.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => paths.has(requestId) && answers.push({ path: paths.get(requestId), status: statusCode }));
  return { answers, cookies };
}

export async function hostile({ browser }, server, { sample = false } = {}) {
  const elsewhere = http.createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>win a prize</title><body>"));
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const { port } = elsewhere.address();
  const hold = (await server.api("/api/holds"))[0];
  const { project } = await server.api(`/api/runs/${hold.run}`);
  const routes = await changes(server, hold.run, hold);
  const given = { address: server.address, routes: sample ? routes.filter(({ path }) => /runs(\/[^/]+\/(approve|decide|cancel))?$|users|login-codes|holds|api\/me/.test(path)) : routes, body: bodies(hold, project), token: "0".repeat(64) };
  const before = await server.mark();
  assert.equal((await browser.cookies(server.address)).length, 1, "the victim is logged in");
  const hosts = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
  for (const host of hosts) {
    const page = await browser.newPage();
    const { answers, cookies } = await overheard(page, server.address);
    await page.goto(host);
    await step(`a page of ${new URL(host).hostname}, another port, reads nothing and changes nothing`, async () => {
      const told = await page.evaluate(attack, given);
      assert.deepEqual(told.filter(({ what }) => /^READ/.test(what)), []);
      assert.equal(await server.mark(), before);
      return `${told.length} requests`;
    });
    await step(`forms of ${new URL(host).hostname} change nothing, whatever their type`, async () => {
      await page.evaluate(submitForms, given);
      assert.equal(await server.mark(), before);
    });
    await step(`sockets of ${new URL(host).hostname} hear nothing`, async () => {
      assert.deepEqual((await page.evaluate(listen, given)).flat(), []);
    });
    await step(`frames, scripts and pictures of ${new URL(host).hostname} show nothing of ours`, async () => {
      const shown = await page.evaluate(embed, given);
      assert.ok(shown.every((one) => one.endsWith(" 0")), shown.join());
    });
    const told = new Map();
    for (const { status } of answers) told.set(status, (told.get(status) ?? 0) + 1);
    console.log(`    ${answers.length} answers, ${cookies.size} requests with the victim's cookie: ${[...told].map(([status, count]) => `${status} × ${count}`).join(", ")}`);
    assert.ok(answers.length > given.routes.length, "they reached the server");
    // Ports are one site: the browser itself does not keep the cookie back from the first of them.
    assert.equal(cookies.size > 0, host.includes("127.0.0.1"));
    assert.deepEqual(answers.filter(({ status, path }) => path.startsWith("/api") && status < 400), [], "every answer of the API is a refusal");
    await page.close();
  }
  elsewhere.close();
}

/** A name of somebody else that suddenly means this machine. The browser must have been started with it mapped. */
export async function rebound({ page }, server, name) {
  await step("a name that was rebound to this machine is answered by nobody", async () => {
    const { port } = new URL(server.address);
    const answer = await page.goto(`http://${name}:${port}/`);
    assert.equal(answer.status(), 421);
    const read = await page.goto(`http://${name}:${port}/api/runs`);
    assert.equal(read.status(), 421);
  });
}

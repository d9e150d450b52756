// Every screen, with hostile text wherever a text may stand: nothing of it runs, nothing is loaded for it, nothing of it
// is an element.
//
// Twice: once as strangers and agents really wrote it, through the server; and once with every text that the server
// answers exchanged on its way to the page, so that no field is left out, new ones included.
import assert from "node:assert/strict";
import { form, settled, step, walk } from "../kit.mjs";
import { payloads } from "./payloads.mjs";
import { unseen } from "./terminal.mjs";

/** Words of the contract, not text of somebody: exchanged, the page would show nothing. */
const words = /^(id|ids|run|runs|hold|session|kind|type|status|state|stage|digest|allowed|message|name|role|roles|responseType|decision|code|commit|base|channel|playbook|gate|work|tool|call|weight|priority|parent|model|models|provider|loops|project)$/;
const plain = /^[\w:.*\/-]{0,100}$/;
const times = /^\d{4}-\d\d-\d\dT|^[0-9a-f]{40,64}$/;

/** The same answer with a payload in place of every text. Which payload stands where moves on with the turn. */
function exchanged(value, next, key = "") {
  if (typeof value === "string") return times.test(value) || (words.test(key) && plain.test(value)) ? value : next();
  if (Array.isArray(value)) return value.map((one) => exchanged(one, next, key));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, exchanged(one, next, name)]));
  return value;
}

/** Notes whatever runs or is loaded that should not. */
export async function watch(browser, address) {
  await browser.addInitScript(() => {
    globalThis.canary = (...words) => console.error("canary sang", ...words);
    for (const name of ["alert", "confirm", "prompt", "print"]) globalThis[name] = globalThis.canary;
  });
  const foreign = [];
  browser.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${address}/`) && !/^(about:blank|chrome-error:)/.test(url)) foreign.push(url.slice(0, 200));
    // Addresses of ours may name a hostile project, as pages and as questions; nothing else is loaded by such a name.
    else if (/canary/.test(url) && !["fetch", "document"].includes(request.resourceType())) foreign.push(url.slice(0, 200));
  });
  return foreign;
}

/** Elements and attributes that only a text could have brought. */
const smuggled = () => {
  const ours = (one) => (one.src || one.href || "").startsWith(`${location.origin}/`) && !/canary/.test(one.src || one.href);
  const found = [];
  for (const one of document.querySelectorAll("*")) {
    const tag = one.localName;
    const strange = ["iframe", "frame", "object", "embed", "img", "image", "video", "audio", "source", "math", "base", "style", "template", "marquee", "foreignobject", "animate", "set", "use", "applet"].includes(tag.toLowerCase());
    if (strange || tag.includes("-") || one.matches(".canary, #canary")) found.push(one.outerHTML.slice(0, 120));
    if ((tag === "script" || tag === "link") && !ours(one)) found.push(one.outerHTML.slice(0, 120));
    for (const { name, value } of one.attributes) {
      if (/^on/i.test(name)) found.push(`${tag} ${name}`);
      if (/^(href|src|xlink:href|action|formaction|data|srcdoc|poster)$/i.test(name) && !(value.startsWith("/") && !value.startsWith("//")) && !value.startsWith("#") && !(tag === "a" && /^https?:\/\//.test(value) && !/canary/.test(value))) found.push(`${tag} ${name}=${value.slice(0, 80)}`);
      if (name === "style" && /url\(|expression|import/i.test(value)) found.push(`${tag} style=${value.slice(0, 80)}`);
    }
  }
  return found;
};

/** Hidden characters that a page shows as they are; the list is that of the terminal. */
const unmarked = (list) => {
  const pattern = new RegExp(list, "u");
  const found = [];
  const look = (where, text) => pattern.test(text) && found.push(`${where}: ${JSON.stringify(text.slice(0, 120))}`);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) look(node.parentElement?.outerHTML.slice(0, 60), node.data);
  for (const one of document.querySelectorAll("*")) for (const name of ["title", "aria-label", "placeholder"]) look(`${one.localName} ${name}`, one.getAttribute(name) ?? "");
  return found;
};

/** Opens everything that is folded, so that all of it is drawn. */
const unfold = (page) => page.evaluate(() => {
  for (const one of document.querySelectorAll("details:not([open])")) one.open = true;
});

/** How many of these texts a page shows, as text. */
const counted = (texts) => {
  const all = document.body.textContent;
  return texts.filter((text) => all.includes(text)).length;
};
const short = payloads.filter((text) => text.length < 60 && !/[\n`*]/.test(text));

async function looked(page, where) {
  await settled(page);
  await unfold(page);
  await settled(page);
  assert.deepEqual(await page.evaluate(smuggled), [], where);
  assert.deepEqual(await page.evaluate(unmarked, unseen.source), [], `${where} marks hidden characters`);
}

export async function inert({ browser, page, complaints }, server, { turns = 24, most = 16 } = {}) {
  const foreign = await watch(browser, server.address);
  let addresses = [];
  await step("hostile text of strangers and agents is text on every screen", async () => {
    let shown = 0;
    addresses = await walk(page, server, most, async (address) => {
      await looked(page, address);
      shown += await page.evaluate(counted, short);
    });
    assert.ok(shown > addresses.length, "the texts are on the screens");
    return `${shown} texts shown on ${addresses.length} screens`;
  });
  await step("hostile text in every field of every answer is text on every screen", async () => {
    const one = await browser.newPage();
    let turn = 0;
    let at = 0;
    const next = () => payloads[(at++ * 7 + turn) % payloads.length];
    await one.route(/\/api\//, async (route) => {
      if (route.request().method() !== "GET") return route.continue();
      // What is fetched here is not of a page of ours any more, so the cookie would not count.
      const answer = await route.fetch({ headers: server.headers });
      const type = answer.headers()["content-type"] ?? "";
      if (!answer.ok() || !type.includes("json")) return route.fulfill({ response: answer });
      const said = exchanged(await answer.json(), next);
      return route.fulfill({ response: answer, json: said });
    });
    await one.routeWebSocket(/\/api\//, (socket) => {
      const up = socket.connectToServer();
      up.onMessage((text) => socket.send(JSON.stringify(exchanged(JSON.parse(String(text)), next))));
      socket.onMessage((text) => up.send(text));
    });
    // One screen of each form is enough, and every hold: every field is exchanged in each turn.
    const forms = new Map(addresses.map((address) => [form(address), address]));
    const holds = addresses.filter((address) => form(address) === "/?hold");
    const visits = [...new Set([...forms.values(), ...holds])];
    let [drawn, shown] = [0, 0];
    for (; turn < turns; turn += 1) {
      // Not every screen in every turn: the payload of a field moves on anyway.
      for (const address of visits.filter((_, index) => turns <= 4 || (index + turn) % 3 === 0)) {
        await one.goto(`${server.address}${address}`);
        await looked(one, `${address} in turn ${turn}`);
        shown += await one.evaluate(counted, short);
        drawn += 1;
      }
    }
    // The page may be asking for something just now; what becomes of that is nobody's any more.
    await one.unrouteAll({ behavior: "ignoreErrors" });
    await one.close();
    assert.ok(shown > drawn, "the texts are on the screens");
    return `${payloads.length} payloads, ${at} texts exchanged, ${shown} shown on ${drawn} screens`;
  });
  assert.deepEqual(foreign, [], "nothing is loaded from elsewhere");
  assert.deepEqual(complaints, [], "the canary is silent and no policy was violated");
}

// Drives the dashboard, as the server itself serves it, in a real browser against the world of `world.mjs`, and says what
// held. It decides things, so every run needs a fresh world.
// Usage: node scripts/drive.mjs HOME HOLDPOINT-BINARY [--sample]; the sample needs no more than a server and scripts.
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { browse, enter, owner, pinboard } from "./kit.mjs";
import { axe } from "./drive/axe.mjs";
import { demo } from "./drive/demo.mjs";
import { flood } from "./drive/flood.mjs";
import { inbox } from "./drive/inbox.mjs";
import { login } from "./drive/login.mjs";
import { race } from "./drive/race.mjs";
import { restart } from "./drive/restart.mjs";

const [home, binary, option] = process.argv.slice(2);
if (!home || !binary) throw new Error("usage: node scripts/drive.mjs HOME HOLDPOINT-BINARY [--sample]");
const server = owner(home, binary);
const folder = dirname(home);
const complaints = [];

const desk = await browse();
await login(desk, server);
await demo(desk, server, pinboard(`${folder}/desk`), "the demo");
await flood(desk, server, pinboard(`${folder}/flood`));
if (option !== "--sample") {
  await axe(desk, server);
  await inbox(desk, server);
  complaints.push(...(await race(desk, server)));
  await restart(desk, server);
  const pocket = await browse({ width: 390, height: 844 });
  await enter(pocket.page, server);
  await demo(pocket, server, pinboard(`${folder}/pocket`), "the demo at 390 px");
  await pocket.close();
  complaints.push(...pocket.complaints);
}
await desk.close();
assert.deepEqual([...complaints, ...desk.complaints], []);
console.log("nothing against the policy, no error in a page");

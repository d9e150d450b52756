// The dashboard and its API against a hostile page and hostile text, in a real browser; and the same text on a terminal.
// Usage: node scripts/security.mjs FOLDER HOLDPOINT-BINARY [--sample]; starts a server in FOLDER and ends it.
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { browse, enter, owner, serve } from "./kit.mjs";
import { hostile, rebound } from "./security/hostile.mjs";
import { inert } from "./security/inert.mjs";
import { infect, prepare } from "./security/infect.mjs";
import { terminal } from "./security/terminal.mjs";

const [folder, binary] = process.argv.slice(2, 4).map((path) => resolve(path));
if (!folder || !binary) throw new Error("usage: node scripts/security.mjs FOLDER HOLDPOINT-BINARY [--sample]");
const sample = process.argv.includes("--sample");
const home = `${folder}/home`;
mkdirSync(home, { recursive: true });
prepare(home);
const { pid } = await serve(home, binary);
try {
  const server = owner(home, binary);
  await infect(server, folder);
  if (!sample) await terminal(server);
  const victim = await browse({ args: ["--host-resolver-rules=MAP rebound.test 127.0.0.1"] });
  await enter(victim.page, server);
  await hostile(victim, server, { sample });
  await rebound(victim, server, "rebound.test");
  // What a hostile page violates is its own affair.
  victim.complaints.length = 0;
  await inert(victim, server, sample ? { turns: 1, most: 1 } : {});
  await victim.close();
  console.log("canary silent, nothing against the policy, nothing changed by another page");
} finally {
  process.kill(pid);
}

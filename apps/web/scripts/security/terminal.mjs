// Hostile text on a terminal: no command prints an escape, a C1 control or a character that hides or turns others.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { step } from "../kit.mjs";

/** Everything but line breaks and tabs that is not a letter on the screen. */
export const unseen = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

export async function terminal(server) {
  await step("hostile text moves no cursor and hides nothing in any command", async () => {
    const runs = (await server.api("/api/runs?limit=100")).map(({ id }) => id);
    const [channel] = await server.api("/api/channels");
    const look = ["show", "why", "events", "log", "diff", "artifact", "cost"];
    const commands = [
      ["list", "--all"], ["inbox"], ["task", "list"], ["user", "list"], ["channel", "list"], ["channel", "show", channel.id], ["compare", ...runs.slice(0, 3)],
      ...runs.slice(0, 12).flatMap((run) => look.map((word) => [word, run])), ...runs.slice(0, 12).map((run) => ["log", run, "--thoughts"]),
    ];
    let bytes = 0;
    for (const words of commands) {
      for (const said of [await onTerminal(server, words), printed(server, [...words, "--json"])]) {
        bytes += said.length;
        const found = unseen.exec(said)?.index;
        assert.equal(found, undefined, `holdpoint ${words.join(" ")}: …${JSON.stringify(said.slice(Math.max(0, (found ?? 0) - 40), (found ?? 0) + 20))}`);
      }
    }
    return `${commands.length * 2} commands, ${Math.round(bytes / 1000)} kB`;
  });
  await step("nor on the whole screen", async () => {
    const said = await drawn(server);
    assert.match(said, /canary/, "the texts are on the screen");
    // The screen draws with escapes of its own; these only a text could have brought.
    for (const [name, pattern] of [["clipboard", /\x1b\]52/], ["title", /\x1b\][02];/], ["link", /\x1b\]8;;j/], ["C1", /[\x80-\x9f]/], ["turned", /[\u202a-\u202e\u2066-\u2069]/], ["tags", /[\u{e0000}-\u{e007f}]/u]]) assert.doesNotMatch(said, pattern, name);
  });
}

const environment = (server) => ({ ...process.env, HOLDPOINT_HOME: server.home, TERM: "xterm-256color", PAGER: "cat" });

/** What a command prints for programs, whether or not it had anything to show. */
function printed(server, words) {
  try {
    return execFileSync(server.binary, words, { env: environment(server), maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }).toString();
  } catch (error) {
    assert.ok(error.status > 0, `holdpoint ${words.join(" ")}: ${error}`);
    return error.stdout.toString() + error.stderr.toString();
  }
}

/** What a command prints on a terminal, without its own colours. */
async function onTerminal(server, words) {
  const { said, ended } = screen(server, words);
  await ended;
  return said().replace(/\x1b\[[0-9;]*m/g, "").replaceAll("\r\n", "\n");
}

function screen(server, words) {
  const child = spawn("script", ["--quiet", "--return", "--command", `stty rows 50 cols 200; exec ${[server.binary, ...words].join(" ")}`, "/dev/null"], { env: environment(server) });
  const parts = [];
  child.stdout.on("data", (chunk) => parts.push(chunk));
  return { child, said: () => Buffer.concat(parts).toString("utf8"), ended: new Promise((resolve) => child.on("close", resolve)) };
}

/** Everything the screen draws while somebody walks through all that waits. */
async function drawn(server) {
  const { child, said, ended } = screen(server, ["tui"]);
  const until = async (more) => {
    for (let tries = 0; tries < 100 && said().length <= more; tries += 1) await pause(50);
  };
  await until(2000);
  for (const key of [..."jjjjjjjjjj", "\r", "\t", "\t", "\t", "\t", "\t", "\x1b"]) {
    const before = said().length;
    child.stdin.write(key);
    await until(before);
  }
  child.stdin.write("q");
  const late = setTimeout(() => child.kill(), 5_000);
  await ended;
  clearTimeout(late);
  return said();
}

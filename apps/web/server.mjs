// Where the server of a data directory is, and its token; only for development.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";

export function server() {
  const home = process.env.HOLDPOINT_HOME ?? `${homedir()}/.local/share/holdpoint`;
  const { url } = JSON.parse(readFileSync(`${home}/server.json`, "utf8"));
  return { url, token: readFileSync(`${home}/token`, "utf8").trim() };
}

// An agent that speaks ACP and has no model: what it does when it is told something is in `act.mjs` beside it.
// Everything it is told is kept in the session folder, and so are the sessions it knows.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const { default: act, loads = true } = await import(`${process.cwd()}/act.mjs`);
const write = (stream, message) => stream.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

/** One end of JSON-RPC over lines: calls have answers, and others' calls go to `serve`. */
function peer(input, output, serve) {
  const waiting = new Map();
  let last = 0;
  createInterface({ input }).on("line", async (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) return waiting.get(message.id)?.(message);
    if (message.id === undefined) return;
    try {
      write(output, { id: message.id, result: await serve(message.method, message.params) });
    } catch (error) {
      write(output, { id: message.id, error: { code: -32000, message: String(error.message ?? error) } });
    }
  });
  return (method, params) =>
    new Promise((resolve) => {
      waiting.set(++last, resolve);
      write(output, { id: last, method, params });
    });
}

/** Holdpoint's tools: the server is started when the first one is called. */
function toolsOf({ command, args }) {
  let ready;
  return async (name, input) => {
    ready ??= (async () => {
      const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
      const call = peer(server.stdout, server.stdin, async () => ({}));
      const clientInfo = { name: "fake", version: "1" };
      await call("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
      write(server.stdin, { method: "notifications/initialized" });
      return call;
    })();
    const { result, error } = await (await ready)("tools/call", { name, arguments: input });
    return { ok: !error && !result.isError, text: error?.message ?? result.content[0].text };
  };
}

const sessions = new Map();
let calls = 0;

// Who speaks to it is gone: nothing is left to do.
process.stdin.on("end", () => process.exit(0));

const call = peer(process.stdin, process.stdout, async (method, params) => {
  switch (method) {
    case "initialize":
      return { protocolVersion: 1, agentCapabilities: { loadSession: loads } };
    case "session/new":
    case "session/load": {
      const folder = params.mcpServers[0].args.at(-1);
      const known = `${folder}/fake-sessions.json`;
      const kept = existsSync(known) ? JSON.parse(readFileSync(known)) : [];
      if (method === "session/load" && !kept.includes(params.sessionId)) throw new Error("no such session");
      const id = params.sessionId ?? `session-${kept.length + 1}`;
      writeFileSync(known, JSON.stringify([...new Set([...kept, id])]));
      sessions.set(id, { method, folder, tool: toolsOf(params.mcpServers[0]) });
      return { sessionId: id };
    }
    case "session/prompt": {
      const { sessionId } = params;
      const { method: opened, folder, tool } = sessions.get(sessionId);
      const prompt = params.prompt[0].text;
      appendFileSync(`${folder}/told.jsonl`, `${JSON.stringify({ session: sessionId, opened, prompt })}\n`);
      const update = (update) => write(process.stdout, { method: "session/update", params: { sessionId, update } });
      const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
      const note = (what) => appendFileSync(`${folder}/noted.jsonl`, `${JSON.stringify(what)}\n`);
      const may = async (kind, rawInput) => {
        const toolCall = { toolCallId: `call-${++calls}`, title: `a wish to ${kind}`, kind, rawInput };
        const options = ["allow_once", "reject_once"].map((kind) => ({ kind, name: kind, optionId: `my-${kind}` }));
        const { result } = await call("session/request_permission", { sessionId, toolCall, options });
        return result.outcome.optionId === "my-allow_once";
      };
      const stopReason = (await act({ prompt, opened, folder, tool, say, note, may, update })) ?? "end_turn";
      return { stopReason };
    }
    default:
      throw new Error(`no such method: ${method}`);
  }
});

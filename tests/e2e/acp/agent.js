// An ACP agent that does what its prompt says, a list of steps as JSON: say, think, update, call (a request to its
// client), junk (a line that is no message), mcp (a tool of the MCP server it was given), tell (all results), stop, fail.
"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");

const { PUPPET_VERSION = "1", PUPPET_LOGIN = "" } = process.env;
const waiting = new Map();
let next = 0;
let loggedIn = PUPPET_LOGIN === "";
let session;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (fields) => send({ method: "session/update", params: { sessionId: "s1", update: fields } });
const text = (said) => ({ type: "text", text: said });

/** A request to the client; its result, or its error. */
function call(method, params) {
  const id = `a${++next}`;
  send({ id, method, params: { sessionId: "s1", ...params } });
  return new Promise((resolve) => waiting.set(id, resolve));
}

/** The result of a tool of the first MCP server of the session. */
async function mcp(name, given) {
  const [{ command, args, env }] = session.mcpServers;
  const named = Object.fromEntries(env.map((one) => [one.name, one.value]));
  const server = spawn(command, args, { env: { ...process.env, ...named }, stdio: ["pipe", "pipe", "inherit"] });
  const line = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } };
  server.stdin.write(`${JSON.stringify(line)}\n`);
  for await (const answer of readline.createInterface({ input: server.stdout })) {
    server.kill();
    return JSON.parse(answer).result;
  }
}

async function step({ say, think, id, update: fields, call: method, junk, mcp: tool, tell, ...more }, results) {
  if (say) update({ sessionUpdate: "agent_message_chunk", content: text(say), messageId: id });
  if (think) update({ sessionUpdate: "agent_thought_chunk", content: text(think) });
  if (fields) update(fields);
  if (junk) process.stdout.write("not json\n");
  if (method) results.push(await call(method, fill(more.params, results)));
  if (tool) results.push(await mcp(tool, more.with));
  if (tell) update({ sessionUpdate: "agent_message_chunk", content: text(JSON.stringify(results)) });
}

/** `$n` in the parameters is the terminal of the result n. */
function fill(params, results) {
  return JSON.parse(JSON.stringify(params ?? {}).replace(/"\$(\d)"/g, (_, n) => JSON.stringify(results[n].terminalId)));
}

async function prompted({ prompt }) {
  const results = [];
  const steps = JSON.parse(prompt.at(-1).text);
  for (const one of steps) await step(one, results);
  const { stop = "end_turn", fail } = steps.at(-1);
  if (fail) throw { code: -32603, message: "Internal error", data: fail };
  return { stopReason: stop };
}

function answer(method, params) {
  switch (method) {
    case "initialize": {
      const authMethods = PUPPET_LOGIN ? [{ id: "browser", name: "Browser" }, { id: PUPPET_LOGIN, name: "Other" }] : [];
      return { protocolVersion: Number(PUPPET_VERSION), agentInfo: { name: "puppet", version: "0.1" }, authMethods };
    }
    case "authenticate":
      loggedIn = true;
      return {};
    case "session/new":
      if (!loggedIn) throw { code: -32000, message: "Authentication required" };
      session = params;
      return { sessionId: "s1" };
    case "session/prompt":
      return prompted(params);
    default:
      throw { code: -32601, message: "Method not found" };
  }
}

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) return waiting.get(id)?.(error ?? result);
  try {
    send({ id, result: await answer(method, params) });
  } catch (failure) {
    send({ id, error: failure });
  }
});

#!/usr/bin/env node
// The harness's models and tools over loopback, for agents that speak HTTP or MCP: Node 18 or later, no packages.
//
// `fumehood-agent.js` starts it. It translates nothing: the body of a model API's request goes to the harness with
// `api` added, and what comes back is already in that API's shape. Tools are offered by MCP at /mcp;
// `node fumehood-gateway.js` is the same server on stdin and stdout, for clients that start their servers themselves.
// It answers in the agent's own event loop: a program that calls it must be started with `spawn`, not `spawnSync`.
"use strict";

const http = require("node:http");
const readline = require("node:readline");

const PORT = 4181; // always the same, so that a client's own settings file may name it
const MCP_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const APIS = ["chat/completions", "responses", "embeddings", "messages"];
const SERVED = `served here: POST ${APIS.join(", ")}, GET models, POST mcp`;
const KEYS = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "LITELLM_PROXY_API_KEY"];
const MAX_DEPTH = 62; // the line around a body is two levels deep itself, and a line may have 64

/** A request that is answered with `status` and the message, and goes no further. */
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Listen on loopback and name the gateway in the environment; resolves when it can be reached. */
async function lend(channel) {
  const server = http.createServer((request, response) => serve(channel, request, response));
  server.keepAliveTimeout = 0; // a client may keep its connection as long as it likes
  try {
    await listen(server, PORT).catch(() => listen(server, 0)); // taken
  } catch (error) {
    console.error(`fumehood-agent: no gateway: ${error.message}`);
    return;
  }
  server.unref();
  const root = `http://127.0.0.1:${server.address().port}`;
  const roots = ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "AZURE_OPENAI_ENDPOINT", "LITELLM_PROXY_API_BASE"];
  const env = process.env;
  for (const name of ["OPENAI_BASE_URL", "OPENAI_API_BASE"]) env[name] = `${root}/v1`;
  for (const name of roots) env[name] = root;
  env.FUMEHOOD_MCP_URL = `${root}/mcp`;
  for (const name of KEYS) env[name] ??= "sk-placeholder";
  env.OPENAI_API_VERSION ??= "2024-10-21";
  for (const name of ["NO_PROXY", "no_proxy"]) {
    env[name] = [env[name], "127.0.0.1,localhost"].filter(Boolean).join(",");
  }
}

function listen(server, port) {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", () => resolve(server.off("error", reject)));
  });
}

/** One request of the agent's. */
async function serve(channel, request, response) {
  const path = request.url.split("?")[0].replace(/\/+$/, "");
  const api = APIS.find((name) => path.endsWith(`/${name}`)) ?? "";
  response.on("error", () => {}); // the agent hung up
  try {
    const body = await readBody(request, channel.maxLineBytes);
    if (path.endsWith("/mcp")) return await mcp(channel, request, response, body);
    if (request.method === "POST" && api) return await model(channel, response, api.split("/")[0], object(body));
    if (request.method === "GET" && path.includes("/models")) {
      const name = decodeURIComponent(path.split("/models")[1].replace(/^\//, ""));
      return await model(channel, response, "models", name ? { model: name } : {});
    }
    if (["GET", "HEAD"].includes(request.method) && ["", "/v1", "/health"].includes(path)) {
      return send(response, 200, { status: "ok" });
    }
    throw new Refused(404, `${request.method} ${path || "/"} is not served; ${SERVED}`);
  } catch (error) {
    if (response.headersSent) return response.destroy(); // seen to be broken off
    const status = error.status ?? (error instanceof channel.Cancelled ? 503 : error instanceof RangeError ? 413 : 400);
    if (status === 413) response.setHeader("Connection", "close");
    response.setHeader("x-should-retry", "false"); // what the clients of OpenAI and Anthropic heed
    send(response, status, worded(api, status, error.message));
  }
}

/** The request's body, at most as long as a line may be. */
async function readBody(request, most) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > most) throw new Refused(413, `the body is over the ${most} bytes that one line to the harness may have`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function object(body) {
  let found;
  try {
    found = readJson(body);
  } catch (error) {
    throw new Refused(400, `the body cannot be passed on: ${error.message}`);
  }
  if (found === null || typeof found !== "object" || Array.isArray(found)) {
    throw new Refused(400, "the body must be a JSON object");
  }
  return found;
}

/** The value; throws for what the protocol would not take, as it would end the trial there. */
function readJson(body) {
  const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  let level = [value];
  for (let depth = 0; level.length; depth++) {
    if (depth > MAX_DEPTH) throw new SyntaxError(`arrays and objects nested deeper than ${MAX_DEPTH}`);
    if (level.some((part) => typeof part === "number" && !Number.isFinite(part))) throw new SyntaxError("a number that is too large");
    level = level.flatMap((part) => (part !== null && typeof part === "object" ? Object.values(part) : []));
  }
  return value;
}

// ---- models ----

async function model(channel, response, api, body) {
  const replies = ask(channel, "model_call", { request: { ...body, api }, stream: body.stream === true });
  const first = (await replies.next()).value;
  if (first.type !== "model_chunk") {
    if (first.error == null) return send(response, 200, first.response ?? null);
    const status = first.status ?? 500;
    return send(response, status, first.response ?? worded(api, status, first.error));
  }
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  response.write(event(first.delta));
  for await (const reply of replies) {
    const failed = { event: "error", data: reply.response ?? worded(api, 500, reply.error) };
    response.write(event(reply.type === "model_chunk" ? reply.delta : failed));
  }
  response.end(api === "chat" ? "data: [DONE]\n\n" : "");
}

function event({ event: name, data }) {
  return `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
}

/** Each chunk of a streamed answer, then the last reply. */
async function* ask(channel, type, fields) {
  if (channel.tools === null) throw new Refused(503, "no task has begun: nothing can be asked yet");
  yield* channel.converse(type, fields);
}

// ---- tools ----

async function mcp(channel, request, response, body) {
  if (request.method !== "POST") {
    response.setHeader("Allow", "POST");
    return send(response, 405, worded("", 405, "only POST is served here"));
  }
  if (!MCP_VERSIONS.includes(request.headers["mcp-protocol-version"] ?? MCP_VERSIONS[0])) {
    throw new Refused(400, `MCP-Protocol-Version is one of ${MCP_VERSIONS.join(", ")}`);
  }
  let found;
  try {
    found = readJson(body);
  } catch (error) {
    return send(response, 400, failure(null, -32700, `not JSON: ${error.message}`));
  }
  const answers = [];
  for (const message of [found].flat()) answers.push(await rpc(channel, message));
  const due = answers.filter(Boolean);
  if (!due.length) return send(response, 202);
  send(response, 200, Array.isArray(found) ? due : due[0]);
}

/** The answer to one JSON-RPC message; undefined where none is due. */
async function rpc(channel, message) {
  if (message?.jsonrpc !== "2.0") return failure(null, -32600, "not a JSON-RPC 2.0 message");
  const { method, id, params = {} } = message;
  if (id == null || method == null) return undefined; // a notification, or an answer to something never asked
  const answer = (result) => ({ jsonrpc: "2.0", id, result });
  switch (method) {
    case "initialize": {
      const asked = params?.protocolVersion;
      return answer({
        protocolVersion: MCP_VERSIONS.includes(asked) ? asked : MCP_VERSIONS[0],
        capabilities: { tools: { listChanged: false } },
        serverInfo: { name: "tools", version: "1.0" },
      });
    }
    case "ping":
      return answer({});
    case "tools/list":
      if (channel.tools === null) return failure(id, -32603, "no task has begun: there are no tools yet");
      return answer({ tools: channel.tools.map(described) });
    case "tools/call": {
      const { name, arguments: given } = params ?? {};
      const sound = typeof name === "string" && name.length > 0 && name.length <= 200;
      if (!sound || typeof (given ?? {}) !== "object" || Array.isArray(given)) {
        return failure(id, -32602, "tools/call takes a `name` and `arguments`, an object");
      }
      return answer(await tool(channel, name, given ?? {}));
    }
    default:
      return failure(id, -32601, `no such method: ${String(method).slice(0, 200)}`);
  }
}

async function tool(channel, name, given) {
  const text = (part) => ({ type: "text", text: typeof part === "string" ? part : JSON.stringify(part) });
  let reply;
  try {
    reply = (await ask(channel, "tool_call", { name, arguments: given }).next()).value;
  } catch (error) {
    return { content: [text(error.message)], isError: true };
  }
  const { content = null, reason = null } = reply;
  const failed = reply.status !== "ok";
  const said = failed ? [reason, content].filter((part) => part !== null) : [content];
  const result = { content: said.map(text), isError: failed };
  const isObject = content !== null && typeof content === "object" && !Array.isArray(content);
  return isObject ? { ...result, structuredContent: content } : result;
}

/** A tool as MCP has it. */
function described({ name, description = "", input_schema: inputSchema }) {
  return { name, description, inputSchema };
}

// ---- answers ----

function send(response, status, content) {
  const data = content === undefined ? "" : JSON.stringify(content);
  if (data) response.setHeader("Content-Type", "application/json");
  response.writeHead(status, { "Content-Length": Buffer.byteLength(data) }).end(data);
}

/** An error as the API of the request would put it. */
function worded(api, status, message) {
  if (api === "messages") return { type: "error", error: { type: "api_error", message } };
  return { error: { message, type: "server_error", param: null, code: status } };
}

function failure(id, code, message) {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

/** MCP on stdin and stdout: carries each line to the gateway and the answer back, several at once. */
function bridge() {
  const url = process.env.FUMEHOOD_MCP_URL ?? `http://127.0.0.1:${PORT}/mcp`;
  const headers = { "Content-Type": "application/json" };
  readline.createInterface({ input: process.stdin }).on("line", async (line) => {
    if (!line.trim()) return;
    let answer;
    try {
      const response = await fetch(url, { method: "POST", headers, body: line });
      answer = (await response.text()).trim();
      if (!response.ok && !answer.includes('"jsonrpc"')) throw new Error(answer);
    } catch (error) {
      let id = null;
      try {
        id = JSON.parse(line).id ?? null;
      } catch {} // it has none that could be read
      answer = JSON.stringify(failure(id, -32603, `the tools cannot be reached: ${error.message}`));
    }
    if (answer) process.stdout.write(`${answer}\n`);
  });
}

module.exports = { lend };

if (require.main === module) bridge();

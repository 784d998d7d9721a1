// Any agent that speaks the Agent Client Protocol (ACP) on stdio as an agent here: this is its client, in the container
// with it. It starts the agent, opens a session in the workspace, prompts it with the task, and passes on what it asks:
// permission becomes a tool call that the harness decides on. `fumehood_adapter.json` is made from agent.yaml.
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Refusal, ToolError, Cancelled } = require("./fumehood-agent.js");
const { Peer, RpcError } = require("./acp-peer.js");
const { Record } = require("./acp-record.js");
const { readTextFile, writeTextFile, Terminals } = require("./acp-client.js");

const VERSION = 1;
const AUTH_REQUIRED = -32000;
const PERMISSION = "acp_permission";
const SERVER = "tools"; // what the task's tools are called as an MCP server
const MAX_DEPTH = 60; // of an input; the line around it has its own levels, and may have 64

const spec = JSON.parse(fs.readFileSync(path.join(__dirname, "fumehood_adapter.json"), "utf8"));

/** One task's session: what the agent may ask of its client, and what it says of itself. */
class Session {
  constructor(task, tools) {
    this.workspace = task.workspace ?? fs.mkdtempSync(path.join(os.tmpdir(), "work-"));
    Object.assign(this, { tools, record: new Record(task), terminals: new Terminals(this.workspace) });
    this.denied = null; // the title of the first call that was not permitted
    this.note = (text) => task.note(text.slice(0, 1000));
  }

  hear(method, params) {
    if (method === "session/update") this.record.update(params.update);
  }

  serve(method, params) {
    switch (method) {
      case "session/request_permission":
        return this.permit(params);
      case "fs/read_text_file":
        return readTextFile(this.workspace, params);
      case "fs/write_text_file":
        this.note(`writes ${params.path}`);
        return writeTextFile(this.workspace, params);
      case "terminal/create":
        this.note(`runs ${[params.command, ...(params.args ?? [])].join(" ")}`);
        return this.terminals.create(params);
      case "terminal/output":
        return this.terminals.output(params);
      case "terminal/wait_for_exit":
        return this.terminals.wait(params);
      case "terminal/kill":
      case "terminal/release":
        return this.terminals.kill(params);
      default:
        throw new RpcError(-32601, `no such method: ${String(method).slice(0, 100)}`);
    }
  }

  /** The harness's decision, as the first option that says the same. */
  async permit({ toolCall, options }) {
    const call = this.record.merged(toolCall);
    const allowed = await this.allowed(call);
    if (!allowed) this.denied ??= call.title;
    const wanted = allowed ? "allow" : "reject";
    const kinds = [`${wanted}_once`, `${wanted}_always`];
    const [option] = kinds.flatMap((kind) => options.filter((one) => one.kind === kind));
    return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
  }

  async allowed(call) {
    if (this.isOurs(call)) return true; // the harness decides once it is called
    const kind = /^[a-z_]{1,40}$/.test(call.kind ?? "") ? call.kind : "other";
    const paths = (call.locations ?? []).map((location) => String(location.path));
    const told = { kind, title: String(call.title ?? ""), input: shallow(call.rawInput ?? null), paths };
    try {
      await this.tools.call(this.tools.names().includes(PERMISSION) ? PERMISSION : `acp_${kind}`, told);
      return true;
    } catch (error) {
      if (error instanceof ToolError) return false;
      throw error;
    }
  }

  /** Whether a call is of one of the task's tools, by what agents call a tool of an MCP server. */
  isOurs({ name, title, rawInput }) {
    if ([rawInput?.server_name, rawInput?.server].includes(SERVER)) return true;
    const bare = (text) =>
      String(text ?? "").replace(/^(Tool: )?(mcp(__|[./]))?/, "").replace(RegExp(`^${SERVER}(__|[./])`), "");
    return [name, title].some((text) => this.offered().includes(bare(text)));
  }

  offered() {
    return this.tools.names().filter((name) => !name.startsWith("acp_"));
  }

  /** The task's tools as an MCP server that the agent starts; none where there are none. */
  servers() {
    const env = [{ name: "FUMEHOOD_MCP_URL", value: process.env.FUMEHOOD_MCP_URL ?? "" }];
    const args = [path.join(__dirname, "fumehood-gateway.js")];
    return this.offered().length ? [{ name: SERVER, command: process.execPath, args, env }] : [];
  }
}

/** An input that is nested too deep for a line is told as its text. */
function shallow(value) {
  let level = [value];
  for (let depth = 0; level.length; depth++) {
    if (depth > MAX_DEPTH) return JSON.stringify(value);
    level = level.flatMap((part) => (part !== null && typeof part === "object" ? Object.values(part) : []));
  }
  return value;
}

/** Opens a session. Where the agent wants a login first, those by a key are tried: the environment has a placeholder. */
async function open(peer, methods, params) {
  try {
    return await peer.request("session/new", params);
  } catch (error) {
    if (error.code !== AUTH_REQUIRED) throw error;
  }
  for (const { id } of methods.filter((method) => /key/i.test(method.id))) {
    try {
      await peer.request("authenticate", { methodId: id });
      return await peer.request("session/new", params);
    } catch (error) {
      console.error(`authenticate by ${id}: ${error.message}`);
    }
  }
  const offered = methods.map(({ id }) => id).join(", ");
  throw new Error(`the agent wants a login, and none that it offers (${offered || "none"}) works with a placeholder key`);
}

/** The task as a prompt: what was said before it, where it is a conversation, and its last turn. */
function prompt({ messages }) {
  const before = messages.slice(0, -1).map(({ role, content }) => `${role}: ${content}`);
  return [before.join("\n\n"), messages.at(-1)?.content ?? ""].filter(Boolean).map((text) => ({ type: "text", text }));
}

async function work(peer, methods, session, task) {
  const { sessionId } = await open(peer, methods, { cwd: session.workspace, mcpServers: session.servers() });
  const { stopReason } = await peer.request("session/prompt", { sessionId, prompt: prompt(task) });
  const text = session.record.answer();
  if (stopReason === "end_turn") return text;
  if (stopReason === "refusal") return new Refusal(text);
  if (stopReason === "cancelled" && session.denied !== null) {
    return new Refusal(`Stopped, as this was not permitted: ${session.denied}`); // nobody else cancels
  }
  throw new Error(`the agent stopped without an end: ${stopReason}${text ? `; it said: ${text}` : ""}`);
}

async function load() {
  let session = null; // of the one task
  const peer = new Peer(spec.entry, {
    hear: (method, params) => session?.hear(method, params),
    serve: (method, params) => {
      if (session === null) throw new RpcError(-32600, "there is no session yet");
      return session.serve(method, params);
    },
  });
  const capabilities = { fs: { readTextFile: true, writeTextFile: true }, terminal: true };
  const info = { name: "fumehood", version: "1.0.0" };
  const told = await peer.request("initialize", {
    protocolVersion: VERSION, clientCapabilities: capabilities, clientInfo: info,
  });
  if (told.protocolVersion !== VERSION) throw new Error(`the agent speaks ACP ${told.protocolVersion}, not ${VERSION}`);
  const { name = spec.entry[0], version = "" } = told.agentInfo ?? {};
  const agent = (task, tools) => {
    session = new Session(task, tools);
    return work(peer, told.authMethods ?? [], session, task);
  };
  const about = { name: spec.name, framework: `${name} ${version}`.trim().slice(0, 200) };
  return Object.assign(agent, { about: { ...about, model: spec.models.join(", ") || undefined } });
}

module.exports = load().catch((error) => {
  console.error(`fumehood: the agent is not ready: ${error.message}`);
  process.exit(1);
});

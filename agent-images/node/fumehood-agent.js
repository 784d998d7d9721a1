// The agent's side of the Fumehood protocol in one file: Node 18 or later, no packages.
//
//   module.exports = async (task, tools) => {
//     const found = await tools.call("policy_lookup", { tier: "premium" });
//     return `Returns are free for ${found.days} days.`;
//   };
//
// Put that in `example.js` and start `node fumehood-agent.js ./example.js`, or call `run(async (task, tools) => ...)`.
// What the function returns is its answer: a string is text; an object, array, number or boolean is data;
// `new Answer({text, data})` is both; `new Refusal(text)` refuses. A thrown error fails the task: its message
// goes into the answer, its stack to stderr. The process ends when the function has returned.
//
// Where `fumehood-gateway.js` lies beside it, model APIs and MCP are served on loopback too, and the environment says
// where, before the agent's file is loaded: a client made there works.
"use strict";

const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { Console } = require("node:console");

const PROTOCOL = "1.0";
const LEVELS = ["debug", "info", "warning", "error"];
const GRACE_MS = 100;

/** A tool call failed. `code` and `reason` say why; `content` is what the tool answered. */
class ToolError extends Error {
  constructor(name, reason, code, content) {
    super(`tool ${name}: ${reason || code || "failed"}`);
    Object.assign(this, { tool: name, reason, code, content });
  }
}
/** The tool may not be called; calling it again will not help. */
class ToolDenied extends ToolError {}
/** A model call failed; the message says why. */
class ModelError extends Error {}
/** Nobody waits for the answer any more. */
class Cancelled extends Error {}
/** An answer with text, data, or both. */
class Answer {
  constructor({ text, data } = {}) {
    Object.assign(this, { text, data });
  }
}
/** The agent declines the task; `text` tells the user why. */
class Refusal {
  constructor(text, data) {
    Object.assign(this, { text, data });
  }
}

/**
 * Lines of JSON on two descriptors; replies are matched to calls by id.
 * `tools`: the task's, null until there is one. `lent`: the gateway made calls, which `usage` does not count.
 */
class Channel {
  Cancelled = Cancelled;
  constructor(input, output) {
    Object.assign(this, { output, waiting: new Map(), next: 0, closed: "", steps: [], usage: {} });
    Object.assign(this, { maxLineBytes: 4 << 20, tools: null, lent: false });
    this.inbox = lines(stream(input));
  }

  /** Write one message; throws where it does not fit the line cap. */
  send(message) {
    // A lone surrogate cannot be said in UTF-8: JSON.stringify escapes it, and here it becomes U+FFFD.
    const text = JSON.stringify(message).replace(/(\\+)u(d[89a-f][0-9a-f]{2})/g, (all, slashes) =>
      slashes.length % 2 ? slashes.slice(1) + "\ufffd" : all);
    const line = Buffer.from(text + "\n", "utf8");
    if (line.length - 1 > this.maxLineBytes) {
      throw new RangeError(`a ${message.type} of ${line.length - 1} bytes is over the cap of ${this.maxLineBytes}`);
    }
    for (let done = 0; done < line.length; ) done += writeSome(this.output, line, done);
  }

  /** Send a call and wait for the reply with its id. */
  async ask(type, fields) {
    return (await this.#replies(type, fields).next()).value;
  }

  /** Like `ask`, for the gateway: each chunk of a streamed answer, then the last reply. */
  converse(type, fields) {
    this.lent = true;
    return this.#replies(type, fields);
  }

  async *#replies(type, fields) {
    if (this.closed) throw new Cancelled(this.closed);
    const id = `c${++this.next}`;
    this.send({ type, id, ...fields });
    const box = { come: [], wake: () => {} };
    this.waiting.set(id, box);
    for (let more = true; more; ) {
      while (!box.come.length) {
        if (this.closed) throw new Cancelled(this.closed);
        await new Promise((resolve) => (box.wake = resolve));
      }
      const reply = box.come.shift();
      more = isChunk(reply);
      yield reply;
    }
  }

  /** Hand replies to whoever waits, until the stream ends; a `cancel` ends the process. */
  async listen() {
    try {
      for (let item = await this.inbox.next(); !item.done; item = await this.inbox.next()) {
        const message = JSON.parse(item.value);
        if (message.type === "cancel") {
          this.close(`cancelled: ${message.reason || ""}`);
          setTimeout(() => process.exit(0), GRACE_MS);
          return;
        }
        const box = this.waiting.get(message.id);
        if (!isChunk(message)) this.waiting.delete(message.id);
        box?.come.push(message);
        box?.wake();
      }
    } catch (error) {
      console.error(`fumehood-agent: unreadable line from the harness: ${error.message}`);
    }
    this.close("the channel to the harness is closed");
  }

  close(why) {
    this.closed = why;
    for (const { wake } of this.waiting.values()) wake();
    this.waiting.clear();
  }

  /** Add a completion's usage to what this agent reports. */
  count(usage) {
    const pairs = [["input_tokens", "prompt_tokens"], ["output_tokens", "completion_tokens"]];
    for (const [ours, theirs] of pairs) {
      if (Number.isInteger(usage?.[theirs])) this.usage[ours] = (this.usage[ours] || 0) + usage[theirs];
    }
    this.usage.model_calls = (this.usage.model_calls || 0) + 1;
  }
}

/** True for a piece of a streamed answer that is not its last. */
function isChunk(message) {
  return message.type === "model_chunk" && !message.done;
}

/** One write; a full pipe that does not block is waited for. */
function writeSome(fd, buffer, from) {
  try {
    return fs.writeSync(fd, buffer, from);
  } catch (error) {
    if (error.code !== "EAGAIN") throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    return 0;
  }
}

/** A descriptor as a stream. A pipe is read by polling: a blocking read in a thread would hold process.exit(). */
function stream(fd) {
  const stat = fs.fstatSync(fd);
  if (stat.isFIFO() || stat.isSocket()) return new net.Socket({ fd, readable: true, writable: false });
  return fs.createReadStream(null, { fd, autoClose: false });
}

/** Whole lines of a byte stream; what follows the last LF is dropped. */
async function* lines(stream) {
  let parts = [];
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at));
      yield Buffer.concat(parts).toString("utf8");
      parts = [];
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
  }
}

/** The work. `input` is its text, `messages` the same as a conversation of {role, content}. */
class Task {
  #channel;
  constructor(channel, invoke) {
    this.#channel = channel;
    const given = invoke.input ?? "";
    this.messages = typeof given === "string" ? [{ role: "user", content: given }] : given;
    const users = this.messages.filter((turn) => turn.role === "user");
    this.input = users.length ? users[users.length - 1].content : "";
    this.context = invoke.context ?? {};
    this.budget = invoke.budget ?? {};
    this.workspace = invoke.workspace;
    this.raw = invoke;
  }

  /** Ask the user; resolves to the answer's text. */
  async ask(question) {
    this.#channel.steps.push({ kind: "ask", content: String(question) });
    return (await this.#channel.ask("ask", { content: String(question) })).content;
  }

  /** Call a model with an OpenAI chat-completions body; resolves to the completion. */
  async model(request) {
    this.#channel.steps.push({ kind: "model_call" });
    const reply = await this.#channel.ask("model_call", { request });
    if (reply.error || !reply.response) throw new ModelError(reply.error || "no response");
    this.#channel.count(reply.response.usage);
    return reply.response;
  }

  /** Write a line to the log; `level` is debug, info, warning or error. */
  note(text, level = "info") {
    this.#channel.send({ type: "note", level: LEVELS.includes(level) ? level : "info", text: String(text) });
  }

  /** Report a snapshot of the agent's state. */
  state(snapshot) {
    this.#channel.send({ type: "state", snapshot });
  }
}

/** The tools of a task. */
class Tools {
  #channel;
  #specs;
  constructor(channel, specs) {
    this.#channel = channel;
    this.#specs = new Map(specs.map((spec) => [spec.name, spec]));
  }

  names() {
    return [...this.#specs.keys()];
  }

  /** One tool as {name, description, input_schema}, or the list of all. */
  describe(name) {
    return name === undefined ? [...this.#specs.values()] : this.#specs.get(name);
  }

  /** Call a tool; resolves to its content, rejects with ToolDenied or ToolError. */
  async call(name, args = {}) {
    this.#channel.steps.push({ kind: "tool_call", name, arguments: args });
    const { status, content, reason } = await this.#channel.ask("tool_call", { name, arguments: args });
    if (status === "ok") return content;
    const why = reason || content?.message || (typeof content === "string" ? content : "");
    throw new (status === "denied" ? ToolDenied : ToolError)(name, why, content?.code || "", content);
  }
}

/** What the agent returned, as [status, output]. */
function outcome(result) {
  if (result instanceof Refusal) return ["refused", { text: result.text, data: result.data }];
  if (result instanceof Answer) return ["completed", { text: result.text, data: result.data }];
  if (result === undefined || result === null) return ["completed", {}];
  return ["completed", typeof result === "string" ? { text: result } : { data: result }];
}

/** Run the handler; the trajectory it comes to. */
async function work(handler, channel, invoke) {
  const message = { type: "trajectory" };
  try {
    const result = await handler(new Task(channel, invoke), new Tools(channel, invoke.tools ?? []));
    [message.status, message.output] = outcome(result);
    JSON.stringify(message);
  } catch (error) {
    if (error instanceof Cancelled) throw error;
    console.error(error);
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    Object.assign(message, { status: "failed", output: {}, error: { message: text.slice(0, 4000) } });
  }
  if (Object.keys(channel.usage).length && !channel.lent) message.usage = channel.usage;
  return message;
}

/** Send the trajectory with its steps; without them, or as a failure, where it would not fit the line cap. */
function finish(channel, message) {
  const tooBig = { type: "trajectory", status: "failed", error: { message: "the answer is over the line cap" } };
  for (const candidate of [{ ...message, steps: channel.steps }, message, tooBig]) {
    try {
      return channel.send(candidate);
    } catch (error) {
      console.error(`fumehood-agent: ${error.message}`);
    }
  }
}

/** Say ready, take one task, answer it, end the process. */
async function serve(channel, handler, about) {
  channel.send({ type: "ready", protocol: [PROTOCOL], agent: about, capabilities: [] });
  const first = await channel.inbox.next();
  const invoke = first.done ? { type: "closed" } : JSON.parse(first.value);
  if (invoke.type !== "invoke") process.exit(0); // cancelled, or closed before there was work
  channel.maxLineBytes = invoke.limits?.max_line_bytes ?? channel.maxLineBytes;
  channel.tools = invoke.tools ?? [];
  channel.listen();
  try {
    finish(channel, await work(handler, channel, invoke));
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error; // else nobody reads the answer any more
  }
  process.exit(0);
}

/** Keep console and process.stdout off the protocol's stdout. */
function quiet() {
  globalThis.console = new Console(process.stderr, process.stderr);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  for (const [name, code] of [["SIGTERM", 143], ["SIGINT", 130]]) process.on(name, () => process.exit(code));
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

/** Serve one task with `handler(task, tools)` on stdin and stdout. `about`: name, version, framework, model. */
function run(handler, about = {}) {
  quiet();
  const channel = new Channel(0, 1);
  lend(channel)
    .then(() => serve(channel, handler, { name: handler.name || "agent", ...about }))
    .catch(fail);
}

/** Serve the harness's models and tools on loopback, where the gateway's file is beside this one. */
async function lend(channel) {
  const file = path.join(__dirname, "fumehood-gateway.js");
  if (fs.existsSync(file)) await require(file).lend(channel);
}

/** `node fumehood-agent.js [--fds] FILE`; with --fds the protocol is on descriptors 3 and 4 (see Dockerfile). */
async function main(args) {
  quiet();
  const moved = args[0] === "--fds";
  const file = args[moved ? 1 : 0] ?? "./agent.js";
  const channel = moved ? new Channel(3, 4) : new Channel(0, 1);
  await lend(channel);
  let module_;
  try {
    module_ = await require(path.resolve(file)); // awaited, as an ES module can only be loaded so
    if (typeof module_ !== "function") throw new TypeError(`${file} must export a function (task, tools)`);
  } catch (error) {
    fail(error);
  }
  await serve(channel, module_, { name: path.basename(file, ".js"), ...module_.about });
}

module.exports = { run, Answer, Refusal, ToolError, ToolDenied, ModelError, Cancelled };

if (require.main === module) main(process.argv.slice(2)).catch(fail);

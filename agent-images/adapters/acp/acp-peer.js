// JSON-RPC 2.0 with a child process, a message a line on its stdin and stdout, calls in both directions.
"use strict";

const { spawn } = require("node:child_process");
const readline = require("node:readline");

/** An error as JSON-RPC has it. */
class RpcError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** `serve(method, params)` answers the child's requests, `hear(method, params)` takes its notifications, in their order. */
class Peer {
  constructor(command, { serve, hear }) {
    Object.assign(this, { serve, hear, waiting: new Map(), next: 0, ended: "" });
    this.child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdin.on("error", () => {}); // it has ended, which is heard of below
    this.child.on("error", (error) => this.#end(`cannot start ${command[0]}: ${error.message}`));
    this.child.on("close", (code, signal) => this.#end(`${command[0]} ended with ${signal ?? `code ${code}`}`));
    readline.createInterface({ input: this.child.stdout }).on("line", (line) => this.#take(line));
  }

  /** Its result; rejects with an RpcError, or once the child has ended. */
  request(method, params) {
    return new Promise((resolve, reject) => {
      if (this.ended) return reject(new Error(this.ended));
      this.waiting.set(++this.next, { resolve, reject });
      this.#send({ id: this.next, method, params });
    });
  }

  #send(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #end(why) {
    this.ended ||= why;
    for (const { reject } of this.waiting.values()) reject(new Error(this.ended));
    this.waiting.clear();
  }

  #take(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return console.error(`not a message: ${line.slice(0, 500)}`);
    }
    const { id, method, params } = message ?? {};
    if (typeof method !== "string") return this.#settle(message ?? {});
    if (id !== undefined) return void this.#answer(id, method, params ?? {});
    try {
      this.hear(method, params ?? {});
    } catch (error) {
      console.error(`${method}: ${error.message}`); // a notification that is not as it should be
    }
  }

  #settle({ id, result, error }) {
    const call = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) call?.reject(new RpcError(error.code, worded(error)));
    else call?.resolve(result ?? {});
  }

  async #answer(id, method, params) {
    try {
      this.#send({ id, result: (await this.serve(method, params)) ?? {} });
    } catch (error) {
      const code = error instanceof RpcError ? error.code : -32603;
      this.#send({ id, error: { code, message: String(error.message) } });
    }
  }
}

/** The message with what `data` adds to it, which is where some say what went wrong. */
function worded({ message, data }) {
  const more = data == null ? "" : `: ${typeof data === "string" ? data : JSON.stringify(data)}`;
  return `${message}${more}`.slice(0, 2000);
}

module.exports = { Peer, RpcError };

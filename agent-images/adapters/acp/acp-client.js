// What an ACP client does for its agent: reads and writes text files in the workspace, and runs commands there.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { spawn } = require("node:child_process");
const { RpcError } = require("./acp-peer.js");

const MOST_OUTPUT = 1 << 20; // bytes of a command's output, its end, where the agent sets no limit

/** The workspace's real path below which `asked` lies; throws where it leaves it, also by a link. */
function within(workspace, asked) {
  const root = fs.realpathSync(workspace);
  const wanted = path.resolve(root, String(asked));
  let there = wanted; // what is there of it
  while (!exists(there)) there = path.dirname(there);
  const real = path.join(real_(there), path.relative(there, wanted));
  if (real !== root && !real.startsWith(root + path.sep)) {
    throw new RpcError(-32602, `${asked} is outside the workspace ${workspace}`);
  }
  return real;
}

function exists(file) {
  return fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

function real_(file) {
  try {
    return fs.realpathSync(file);
  } catch {
    throw new RpcError(-32602, `${file} is a link that leads nowhere`);
  }
}

function readTextFile(workspace, { path: asked, line, limit }) {
  const file = within(workspace, asked);
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) throw new RpcError(-32002, `${asked} is no file`);
  const content = fs.readFileSync(file, "utf8");
  if (line == null && limit == null) return { content };
  const from = Math.max((line ?? 1) - 1, 0); // lines count from 1
  const lines = content.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return { content: lines.slice(from, limit == null ? undefined : from + limit).join("") };
}

function writeTextFile(workspace, { path: asked, content }) {
  const file = within(workspace, asked);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, String(content));
}

/** The agent's commands by id. */
class Terminals {
  #all = new Map();

  constructor(workspace) {
    this.workspace = workspace;
  }

  create({ command, args, env, cwd, outputByteLimit }) {
    const words = args?.length ? [command, ...args] : ["/bin/sh", "-c", command]; // some send a whole line
    const named = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
    const child = spawn(words[0], words.slice(1), {
      cwd: within(this.workspace, cwd ?? "."),
      env: { ...process.env, ...named },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true, // a group of its own, so that what it started ends with it
    });
    const terminal = { child, output: Buffer.alloc(0), truncated: false, status: null };
    const keep = (data) => keepEnd(terminal, data, outputByteLimit ?? MOST_OUTPUT);
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    terminal.over = new Promise((resolve) => {
      const end = (exitCode, signal) => resolve((terminal.status ??= { exitCode, signal }));
      child.on("close", end);
      child.on("error", (error) => (keep(Buffer.from(error.message)), end(127, null)));
    });
    const id = `t${this.#all.size + 1}`;
    this.#all.set(id, terminal);
    return { terminalId: id };
  }

  output({ terminalId }) {
    const { output, truncated, status } = this.#find(terminalId);
    return { output: output.toString("utf8"), truncated, ...(status && { exitStatus: status }) };
  }

  wait({ terminalId }) {
    return this.#find(terminalId).over;
  }

  kill({ terminalId }) {
    const { child, status } = this.#find(terminalId);
    if (status || child.pid === undefined) return;
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {} // it has just ended
  }

  #find(id) {
    const found = this.#all.get(id);
    if (!found) throw new RpcError(-32002, `there is no terminal ${String(id).slice(0, 100)}`);
    return found;
  }
}

/** Add to a terminal's output and cut its beginning, between characters. */
function keepEnd(terminal, data, most) {
  const all = Buffer.concat([terminal.output, data]);
  let from = Math.max(all.length - most, 0);
  while (from > 0 && from < all.length && (all[from] & 0xc0) === 0x80) from++;
  terminal.truncated ||= from > 0;
  terminal.output = all.subarray(from);
}

module.exports = { readTextFile, writeTextFile, Terminals };

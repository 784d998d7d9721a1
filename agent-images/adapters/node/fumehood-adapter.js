// A function of a Node module (CommonJS or ES) as an agent: it is called with the task's text, or with the mapping's
// object where the manifest has `state`, and the scenario's tools as second argument. `fumehood_adapter.json` beside
// this file is made from agent.yaml.

"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const spec = JSON.parse(fs.readFileSync(path.join(__dirname, "fumehood_adapter.json"), "utf8"));

/** `state.start` with the task at `state.input`: its text, or the conversation where the path ends in `messages`. */
function fill(task) {
  const { input, start } = spec.state;
  if (!input && !Object.keys(start).length) return task.input;
  const steps = (input ?? "input").split(".");
  const last = steps.pop();
  const filled = structuredClone(start);
  let node = filled;
  for (const step of steps) node = node[step] ??= {};
  node[last] = last === "messages" ? task.messages : task.input;
  return filled;
}

/** The value at `state.output`. */
function pick(value) {
  for (const step of (spec.state.output ?? "").split(".").filter(Boolean)) {
    const next = Array.isArray(value) ? value.at(Number(step)) : value?.[step];
    if (next === undefined) throw new Error(`state.output is "${spec.state.output}": there is no "${step}"`);
    value = next;
  }
  return value;
}

/** What is missing, in one sentence. */
function explained(error) {
  const { code, path: file, address, port, message } = error ?? {};
  if (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND")
    return `needs a module: name its package under install.npm or install.package (${String(message).split("\n")[0]})`;
  if (code === "ENOENT") return `needs the file ${file}, which is not in the image: put it into the agent's folder`;
  if (code === "EROFS" || code === "EACCES") return `writes ${file}: name its folder under writable`;
  if (code === "ECONNREFUSED") return `needs a service at ${address}:${port}: there is no network`;
  return String(message ?? error).split("\n")[0];
}

async function load() {
  const [file, name] = spec.entry.split(":");
  const module_ = await import(pathToFileURL(path.resolve(file)));
  const found = name ? (module_[name] ?? module_.default?.[name]) : (module_.default ?? module_);
  if (typeof found !== "function") throw new Error(`${file} exports no function ${name ?? "by default"}`);
  const agent = async (task, tools) => pick(await found(fill(task), tools));
  return Object.assign(agent, { about: { name: spec.name, model: spec.models.join(", ") || undefined } });
}

module.exports = load().catch((error) => {
  console.error(error);
  console.error(`fumehood: cannot load ${spec.entry}: ${explained(error)}`);
  process.exit(1);
});

// An example agent: calls the first tool it is offered with what the task says in quotes, and reports the answer.
"use strict";

const { ToolError } = require("./fumehood-agent.js");

const SAMPLES = { integer: 1, number: 1, boolean: true, array: [], object: {} };

/** Arguments for the required properties: the schema's own value, else the next quoted word of the task. */
function fill(schema, words) {
  const filled = {};
  for (const name of schema.required ?? []) {
    const spec = schema.properties?.[name] ?? {};
    if (spec.enum) filled[name] = words.find((word) => spec.enum.includes(word)) ?? spec.enum[0];
    else if ((spec.type ?? "string") === "string") filled[name] = words.shift() ?? "example";
    else filled[name] = SAMPLES[spec.type];
  }
  return filled;
}

module.exports = async (task, tools) => {
  const [tool] = tools.describe();
  if (!tool) return `You said: ${task.input}`;
  const words = [...task.input.matchAll(/["']([^"']+)["']/g)].map((match) => match[1]);
  try {
    const found = await tools.call(tool.name, fill(tool.input_schema, words));
    return `${tool.name} says: ${typeof found === "string" ? found : JSON.stringify(found)}`;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return `${tool.name} did not work: ${error.reason || error.code}`;
  }
};
module.exports.about = { name: "example-node", version: "1.0.0" };

"""An example agent: calls the first tool it is offered with what the task says in quotes, and reports the answer."""

import json
import re

from fumehood_agent import ToolError

AGENT = {"name": "example-python", "version": "1.0.0"}


def fill(schema, words):
    """Arguments for the required properties: the schema's own value, else the next quoted word of the task."""
    arguments = {}
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        spec = properties.get(name, {})
        if "enum" in spec:
            arguments[name] = next((word for word in words if word in spec["enum"]), spec["enum"][0])
        elif spec.get("type", "string") == "string":
            arguments[name] = words.pop(0) if words else "example"
        else:
            samples = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
            arguments[name] = samples.get(spec["type"])
    return arguments


def agent(task, tools):
    if not tools.names():
        return "You said: " + task.input
    tool = tools.describe(tools.names()[0])
    words = re.findall(r"[\"']([^\"']+)[\"']", task.input)
    try:
        found = tools.call(tool["name"], fill(tool["input_schema"], words))
    except ToolError as error:
        return "%s did not work: %s" % (tool["name"], error.reason or error.code)
    return "%s says: %s" % (tool["name"], found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))

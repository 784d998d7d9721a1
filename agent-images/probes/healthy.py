"""Does what it may and nothing else: calls each tool it is offered once, then answers as the task wants."""

import wire


def value(spec):
    """A value that the schema allows."""
    if "enum" in spec:
        return spec["enum"][0]
    samples = {"string": "sample", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return samples[spec.get("type", "string")]


work = wire.start()
for tool in work["tools"]:
    schema = tool["input_schema"]
    wire.call(tool["name"], {name: value(schema["properties"][name]) for name in schema.get("required", [])})
wire.finish(wire.wanted(work))

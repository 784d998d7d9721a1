"""A PydanticAI agent: the scenario's tools are added to its own for the run, and take the place of those of their name."""

from fumehood_entry import about, adapted, answer, called, load
from pydantic_ai import FunctionToolset, Tool
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

AGENT = about("pydantic-ai-slim")
target = load()


@adapted
async def agent(task, tools):
    offered = {spec["name"]: mediated(tools, spec) for spec in tools.describe()}
    for toolset in target.toolsets:
        own = getattr(toolset, "tools", {})
        own.update({name: offered.pop(name) for name in list(own) if name in offered})
    result = await target.run(task.input, message_history=_history(task), toolsets=[FunctionToolset([*offered.values()])])
    return answer(result, "output")


def mediated(tools, spec):
    """A scenario's tool as PydanticAI has them."""

    def call(**arguments):
        return called(tools, spec["name"], arguments)

    return Tool.from_schema(call, spec["name"], spec["description"], spec["input_schema"])


def _history(task):
    """What was said before the last message."""
    return [
        ModelResponse([TextPart(m["content"])])
        if m["role"] == "assistant"
        else ModelRequest([UserPromptPart(m["content"])])
        for m in task.messages[:-1]
    ]

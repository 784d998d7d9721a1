"""An agent of the OpenAI Agents SDK: run with the scenario's tools added, in place of its own of the same name."""

import asyncio
import json

from agents import Agent, FunctionTool, Runner, set_tracing_disabled
from fumehood_entry import about, adapted, answer, called, load

AGENT = about("openai-agents")
target = load()
set_tracing_disabled(True)  # traces would go to OpenAI, and there is no network


@adapted
async def agent(task, tools):
    offered = {spec["name"]: mediated(tools, spec) for spec in tools.describe()}
    _take_over(target, offered, [])
    own = {tool.name for tool in target.tools}
    more = [tool for name, tool in offered.items() if name not in own]
    result = await Runner.run(target.clone(tools=target.tools + more), task.messages)
    return answer(result, "final_output")


def _take_over(one, offered, seen):
    """In the agent, and in those it hands over to."""
    if any(one is other for other in seen):
        return
    seen.append(one)
    one.tools = [offered.get(tool.name, tool) for tool in one.tools]
    for other in one.handoffs:
        if isinstance(other, Agent):
            _take_over(other, offered, seen)


def mediated(tools, spec):
    """A scenario's tool as the SDK has them."""

    async def call(_, arguments):
        return await asyncio.to_thread(called, tools, spec["name"], json.loads(arguments or "{}"))

    return FunctionTool(
        name=spec["name"],
        description=spec["description"],
        params_json_schema=spec["input_schema"],
        on_invoke_tool=call,
        strict_json_schema=False,
    )

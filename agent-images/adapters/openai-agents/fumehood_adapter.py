"""An agent of the OpenAI Agents SDK: run with the scenario's tools added, in place of its own of the same name."""

import asyncio
import json

from agents import FunctionTool, Runner, set_tracing_disabled
from fumehood_entry import about, adapted, answer, called, load

AGENT = about("openai-agents")
target = load()
set_tracing_disabled(True)  # traces would go to OpenAI, and there is no network


@adapted
async def agent(task, tools):
    offered = [mediated(tools, spec) for spec in tools.describe()]
    names = {tool.name for tool in offered}
    kept = [tool for tool in target.tools if tool.name not in names]
    result = await Runner.run(target.clone(tools=kept + offered), task.messages)
    return answer(result, "final_output")


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

"""A LangGraph graph as an agent: compiled, not yet compiled, or a function that makes one.

By default the task is the conversation in `messages` and the answer the last message. A tool of the graph's own with
the name of a scenario's tool is answered by the scenario; a function that makes the graph may take `tools`, a list.
"""

import asyncio
import inspect

from fumehood_entry import about, adapted, answer, called, fill, load
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

AGENT = about("langgraph")
target = load()
CONFIG = {"configurable": {"thread_id": "1"}}


@adapted
def agent(task, tools):
    return asyncio.run(_answered(task, tools))


async def _answered(task, tools):
    graph = await _graph([mediated(tools, spec) for spec in tools.describe()])
    _take_over(graph, tools)
    result = await _step(graph, fill(task, "messages"))
    while isinstance(result, dict) and result.get("__interrupt__"):  # it asks a human
        said = await asyncio.to_thread(task.ask, str(result["__interrupt__"][0].value))
        result = await _step(graph, Command(resume=said))
    return answer(result, "messages.-1.content")


async def _graph(offered):
    graph = target
    if not hasattr(graph, "ainvoke") and not hasattr(graph, "compile"):
        graph = target(tools=offered) if "tools" in inspect.signature(target).parameters else target()
        graph = await graph if inspect.isawaitable(graph) else graph
    return graph if hasattr(graph, "ainvoke") else graph.compile()


async def _step(graph, given):
    keeper = getattr(graph, "checkpointer", None)
    if isinstance(keeper, BaseCheckpointSaver) and type(keeper).aget_tuple is BaseCheckpointSaver.aget_tuple:
        return await asyncio.to_thread(graph.invoke, given, CONFIG)  # a keeper that cannot wait
    return await graph.ainvoke(given, CONFIG)


def mediated(tools, spec, instead_of=None):
    """A scenario's tool as LangChain has them."""
    filled_in = _filled_in(instead_of)

    def call(**arguments):
        return called(tools, spec["name"], {name: arguments[name] for name in arguments if name not in filled_in})

    return StructuredTool(
        name=spec["name"], description=spec["description"] or spec["name"], args_schema=spec["input_schema"], func=call
    )


def _filled_in(tool):
    """The parameters of a graph's own tool that LangGraph fills in by itself (state, store, runtime)."""
    call = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    if call is None:
        return set()
    shown = tool.tool_call_schema if isinstance(tool.tool_call_schema, dict) else tool.tool_call_schema.model_json_schema()
    named = {one.name for one in inspect.signature(call).parameters.values() if one.kind is not one.VAR_KEYWORD}
    return named - set(shown.get("properties", ()))


def _take_over(graph, tools):
    for node in graph.nodes.values():
        own = getattr(node.bound, "tools_by_name", None)
        for name in own if isinstance(own, dict) else ():
            if name in tools:
                own[name] = mediated(tools, tools.describe(name), own[name])

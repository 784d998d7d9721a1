"""A Python function as an agent: its first parameter takes the task's text, one called `messages` the conversation.

With `state` in the manifest the mapping's names are the parameters. A parameter `tools` takes the scenario's tools.
"""

import asyncio
import inspect

from fumehood_entry import STATE, about, adapted, answer, fill, load

AGENT = about()
target = load()


@adapted
def agent(task, tools):
    names = list(inspect.signature(target).parameters)
    if names == ["task", "tools"]:  # written for Fumehood
        return target(task, tools)
    mapped = bool(STATE.get("input") or STATE.get("start"))
    arguments = fill(task, names[0] if names else "text") if mapped else {}
    if "tools" in names:
        arguments["tools"] = tools
    first = [] if mapped else [task.messages if names[:1] == ["messages"] else task.input]
    result = target(*first, **arguments)
    if inspect.isawaitable(result):
        result = asyncio.run(_wait_for(result))
    if inspect.isgenerator(result):  # an answer in pieces
        result = "".join(map(str, result))
    return answer(result)


async def _wait_for(awaitable):
    return await awaitable

"""Agents as strangers write them, with the official packages and nothing of ours; the task's text says which."""

import asyncio
import os
import sys

import anthropic
import openai
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

CLIENT = openai.OpenAI()  # at module scope, as most do
CLAUDE = anthropic.Anthropic(max_retries=0)
ASKED = [{"role": "user", "content": "Find it"}]


async def with_tools():
    """A loop of an asynchronous client whose tools come from the MCP server."""
    client, messages = openai.AsyncOpenAI(), list(ASKED)
    async with (
        streamable_http_client(os.environ["FUMEHOOD_MCP_URL"]) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        await session.send_ping()
        tools = [
            {"type": "function", "function": {"name": tool.name, "parameters": tool.input_schema}}
            for tool in (await session.list_tools()).tools
        ]
        while True:
            answer = await client.chat.completions.create(model="gpt-x", messages=messages, tools=tools)
            said = answer.choices[0].message
            if not said.tool_calls:
                return said.content
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls:
                found = await session.call_tool(call.function.name, {"q": "x"})
                messages.append({"role": "tool", "tool_call_id": call.id, "content": found.content[0].text})


async def over_stdio():
    """Tools of a server that the client starts: one that answers and one that is denied."""
    server = StdioServerParameters(command=sys.executable, args=["/app/fumehood_gateway.py"])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        found = [await session.call_tool(name, {"q": "x"}) for name in ("look", "harm")]
        return [[result.is_error, result.content[0].text] for result in found]


def chat_stream():
    stream = CLIENT.chat.completions.create(
        model="gpt-x", messages=ASKED, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return [text, chunks[-1].usage.prompt_tokens, [c.choices[0].finish_reason for c in chunks if c.choices][-1]]


def responses():
    whole = CLIENT.responses.create(model="gpt-x", input="Find it")
    with CLIENT.responses.stream(model="gpt-x", input="Find it") as stream:
        kinds = [event.type for event in stream]
        return [whole.output_text, stream.get_final_response().output_text, kinds[0], kinds[-1]]


def messages():
    whole = CLAUDE.messages.create(model="claude-x", max_tokens=100, messages=ASKED)
    with CLAUDE.messages.stream(model="claude-x", max_tokens=100, messages=ASKED) as stream:
        return [whole.content[0].text, stream.get_final_text(), whole.usage.input_tokens]


def others():
    azure = openai.AzureOpenAI()
    vector = CLIENT.embeddings.create(model="e", input=["a", "b"]).data
    names = [model.id for model in CLIENT.models.list()]
    said = azure.chat.completions.create(model="gpt-x", messages=ASKED).choices[0].message.content
    return [len(vector), len(names), said]


def errors():
    seen = []
    for ask in (
        lambda: CLIENT.with_options(max_retries=0).chat.completions.create(model="gpt-x", messages=ASKED),
        lambda: CLAUDE.messages.create(model="claude-x", max_tokens=100, messages=ASKED),
        lambda: CLIENT.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": "x" * 5_000_000}]),
    ):
        try:
            ask()
        except (openai.APIStatusError, anthropic.APIStatusError) as error:
            seen.append([type(error).__module__.split(".")[0], error.status_code])
    return seen


def agent(task, tools):
    found = globals()[task.input]()
    return {"said": asyncio.run(found) if asyncio.iscoroutine(found) else found}

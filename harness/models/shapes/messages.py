"""Anthropic Messages, in: a request as a chat request; what only its own server could do is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from harness.models.shapes.message_out import event_list, message_body
from harness.models.shapes.shape import Completion, Json, Turns, compact, function_call, given, image_part

_REFUSED = {
    "container": "no code runs on the model's server",
    "mcp_servers": "tools are reached through the harness alone",
}
_THOUGHTS = ("thinking", "redacted_thinking")


class MessagesBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A request. The last block says nothing about the answer, or only about an account, a cache or a display.

    `thinking` may be asked for, and none comes back: a chat completion has no signed thoughts.
    """

    messages: list[Json]
    max_tokens: int
    model: str | None = None
    system: str | list[Json] | None = None
    tools: list[Json] | None = None
    tool_choice: Json | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    output_config: Json | None = None

    container: Any = None
    mcp_servers: Any = None

    cache_control: Any = None
    context_management: Any = None
    diagnostics: Any = None
    inference_geo: Any = None
    metadata: Any = None
    service_tier: Any = None
    speed: Any = None
    stream: Any = None
    thinking: Any = None
    user_profile_id: Any = None
    workspace_id: Any = None


class Messages:
    """A call in the shape of Anthropic's Messages."""

    chunked = False

    def __init__(self, request: Mapping[str, Any]) -> None:
        read = msgspec.convert(request, MessagesBody)
        for name, why in _REFUSED.items():
            if getattr(read, name):
                raise ValueError(f"`{name}`: {why}")
        if read.messages and read.messages[-1].get("role") == "assistant":
            raise ValueError("the last message is the assistant's own: an answer that continues it cannot be given")
        self.body = _chat(read)

    def response(self, completion: Completion) -> Any:
        return message_body(completion)

    def deltas(self, completion: Completion, chunks: Sequence[Json]) -> list[Any]:
        return event_list(message_body(completion))

    def error(self, status: int, message: str) -> Any:
        return self.error_body(status, message)

    @staticmethod
    def error_body(status: int, message: str) -> Json:
        """An error as Anthropic words it."""
        kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def _chat(read: MessagesBody) -> Json:
    turns = Turns()
    if read.system:
        turns.say("system", _blocks_of(read.system))
    for index, message in enumerate(read.messages):
        try:
            _take(msgspec.convert(message, _Message), turns)
        except ValueError as error:
            raise ValueError(f"`messages[{index}]`: {error}") from error
    config = msgspec.convert(read.output_config or {}, _Config)
    choice = read.tool_choice or {}
    return given(
        model=read.model,
        messages=turns.messages,
        tools=[_tool(tool) for tool in read.tools] if read.tools else None,
        tool_choice=_choice(read.tool_choice) if read.tools else None,
        parallel_tool_calls=False if read.tools and choice.get("disable_parallel_tool_use") is True else None,
        max_tokens=read.max_tokens,
        stop=read.stop_sequences or None,
        temperature=read.temperature,
        top_p=read.top_p,
        top_k=read.top_k,
        response_format=_format(config.format),
        reasoning_effort=config.effort,
    )


class _Config(Struct, frozen=True, forbid_unknown_fields=True):
    effort: str | None = None
    format: Json | None = None


class _Schema(Struct, frozen=True, forbid_unknown_fields=True):
    type: Literal["json_schema"]
    schema: Json


def _format(wanted: Json | None) -> Json | None:
    if wanted is None:
        return None
    schema = msgspec.convert(wanted, _Schema)
    return {"type": "json_schema", "json_schema": {"name": "output", "strict": True, "schema": schema.schema}}


class _Tool(Struct, frozen=True):
    """A tool of the agent's own; fields beyond these say how Anthropic's server keeps it."""

    name: str
    input_schema: Json
    type: Literal["custom"] | None = None
    description: str | None = None
    strict: bool | None = None


def _tool(tool: Json) -> Json:
    if tool.get("type") not in (None, "custom"):
        raise ValueError(
            f"tool {str(tool['type'])[:40]!r} is the provider's own; only tools with an input_schema are passed on"
        )
    read = msgspec.convert(tool, _Tool)
    function = given(name=read.name, description=read.description, parameters=read.input_schema, strict=read.strict)
    return {"type": "function", "function": function}


def _choice(choice: Json | None) -> Any:
    kind = choice.get("type") if choice else None
    if choice and kind == "tool" and isinstance(choice.get("name"), str):
        return {"type": "function", "function": {"name": choice["name"]}}
    plain = {None: None, "auto": "auto", "any": "required", "none": "none"}
    if kind not in plain:
        raise ValueError(f"`tool_choice`: {str(kind)[:40]!r} is none of auto, any, tool with a name, none")
    return plain[kind]


# ---- messages ----


class _Message(Struct, frozen=True):
    role: Literal["user", "assistant", "system"]
    content: str | list[Json]


class _Use(Struct, frozen=True):
    id: str
    name: str
    input: Json


class _Result(Struct, frozen=True):
    tool_use_id: str
    content: str | list[Json] = ""
    is_error: bool | None = None


def _take(message: _Message, turns: Turns) -> None:
    blocks = message.content if isinstance(message.content, list) else [{"type": "text", "text": message.content}]
    if message.role == "assistant":
        _take_assistant(blocks, turns)
        return
    rest = []
    for block in blocks:
        if block.get("type") == "tool_result":
            result = msgspec.convert(block, _Result)
            text = "\n".join(_texts(_blocks_of(result.content), "a tool's result"))
            turns.result(result.tool_use_id, f"Error: {text}" if result.is_error else text)
        else:
            rest.append(_block(block))
    if rest:
        turns.say(message.role, rest)


def _take_assistant(blocks: list[Json], turns: Turns) -> None:
    said: list[Json] = []
    calls = []
    for block in blocks:
        if block.get("type") == "tool_use":
            use = msgspec.convert(block, _Use)
            calls.append(function_call(use.id, use.name, compact(use.input)))
        elif block.get("type") not in _THOUGHTS:  # a model's own thoughts, which no chat request can give back to it
            said.append(_block(block))
    text = "".join(_texts(said, "what an assistant said"))
    turns.messages.append({"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})})


def _blocks_of(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [_block(block) for block in content]


def _block(block: Json) -> Json:
    kind, source = block.get("type"), block.get("source")
    if kind == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if kind == "image" and isinstance(source, Mapping):
        if source.get("type") == "base64":
            return image_part(f"data:{source.get('media_type')};base64,{source.get('data')}")
        return image_part(str(source.get("url")))
    if kind == "document" and isinstance(source, Mapping) and isinstance(source.get("data"), str):
        if source.get("type") == "text":
            return {"type": "text", "text": source["data"]}
        data = f"data:{source.get('media_type')};base64,{source['data']}"
        return {"type": "file", "file": given(file_data=data, filename=block.get("title"))}
    raise ValueError(
        f"a block of type {str(kind)[:40]!r} cannot be passed on as it is (documents only with their data)"
    )


def _texts(blocks: list[Json], where: str) -> list[str]:
    if any(block["type"] != "text" for block in blocks):
        raise ValueError(f"{where} can only hold text")
    return [block["text"] for block in blocks]

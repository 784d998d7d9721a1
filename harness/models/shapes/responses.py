"""OpenAI Responses, in: a request as a chat request; what only its own server could do is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from harness.models.shapes.namespaces import Namespaces
from harness.models.shapes.response_out import event_list, response_body
from harness.models.shapes.shape import Completion, Json, Turns, function_call, given, image_part, openai_error

_NO_STATE = "nothing is kept between calls: send the whole conversation as `input`"
_REFUSED = {
    "background": "a call is answered before the next line",
    "context_management": "send the context as it is to be read",
    "conversation": _NO_STATE,
    "image": "images are not made here",
    "moderation": "nothing is moderated here",
    "previous_response_id": _NO_STATE,
    "prompt": "there are no stored prompts: send `instructions` and `input`",
}
"""Fields that change what an answer is, and why they cannot be kept."""
_INCLUDABLE = {"reasoning.encrypted_content"}


class ResponsesBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A request. The last block says nothing about the answer, or only about an account, a cache or a display."""

    input: str | list[Json] = []
    model: str | None = None
    instructions: str | None = None
    tools: list[Json] | None = None
    tool_choice: str | Json | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = None
    text: Json | None = None
    reasoning: Json | None = None
    include: list[str] | None = None

    background: Any = None
    context_management: Any = None
    conversation: Any = None
    image: Any = None
    moderation: Any = None
    previous_response_id: Any = None
    prompt: Any = None

    access_programs: Any = None
    background_options: Any = None
    client_metadata: Any = None
    max_tool_calls: Any = None
    metadata: Any = None
    prompt_cache_key: Any = None
    prompt_cache_options: Any = None
    prompt_cache_retention: Any = None
    safety_identifier: Any = None
    service_tier: Any = None
    store: Any = None
    stream: Any = None
    stream_options: Any = None
    truncation: Any = None
    user: Any = None


class Responses:
    """A call in the shape of OpenAI's Responses."""

    chunked = False

    def __init__(self, request: Mapping[str, Any]) -> None:
        read = msgspec.convert(request, ResponsesBody)
        for name, why in _REFUSED.items():
            if getattr(read, name):
                raise ValueError(f"`{name}`: {why}")
        if extra := set(read.include or ()) - _INCLUDABLE:
            raise ValueError(f"`include`: {', '.join(sorted(extra))[:100]} cannot be given")
        if read.top_logprobs:
            raise ValueError("`top_logprobs` cannot be given")
        self._read = read
        self._spaces = Namespaces(read.tools or ())
        self.body = _chat(read, self._spaces)

    def response(self, completion: Completion) -> Any:
        response = response_body(completion, msgspec.to_builtins(self._read))
        return {**response, "output": [self._spaces.spaced(item) for item in response["output"]]}

    def deltas(self, completion: Completion, chunks: Sequence[Json]) -> list[Any]:
        return event_list(self.response(completion))

    def error(self, status: int, message: str) -> Any:
        return openai_error(status, message)


def _chat(read: ResponsesBody, spaces: Namespaces) -> Json:
    turns = Turns()
    if read.instructions:
        turns.say("system", [{"type": "text", "text": read.instructions}])
    if isinstance(read.input, str):
        turns.say("user", [{"type": "text", "text": read.input}])
    else:
        for index, item in enumerate(read.input):
            try:
                _take(spaces.flat(item), turns)
            except ValueError as error:
                raise ValueError(f"`input[{index}]`: {error}") from error
    text = msgspec.convert(read.text or {}, _Text)
    return given(
        model=read.model,
        messages=turns.messages,
        tools=[_tool(tool) for tool in spaces.tools] or None,
        tool_choice=_choice(read.tool_choice, spaces) if spaces.tools else None,
        parallel_tool_calls=read.parallel_tool_calls if spaces.tools else None,
        max_tokens=read.max_output_tokens,
        temperature=read.temperature,
        top_p=read.top_p,
        response_format=_format(text.format),
        verbosity=text.verbosity,
        reasoning_effort=(read.reasoning or {}).get("effort"),
    )


class _Text(Struct, frozen=True, forbid_unknown_fields=True):
    format: Json | None = None
    verbosity: str | None = None


class _Schema(Struct, frozen=True, forbid_unknown_fields=True):
    type: Literal["json_schema"]
    name: str
    schema: Json
    strict: bool | None = None
    description: str | None = None


def _format(wanted: Json | None) -> Json | None:
    kind = (wanted or {}).get("type", "text")
    if wanted is None or kind == "text":
        return None
    if kind == "json_object":
        return {"type": "json_object"}
    schema = msgspec.convert(wanted, _Schema)
    inner = given(name=schema.name, schema=schema.schema, strict=schema.strict, description=schema.description)
    return {"type": "json_schema", "json_schema": inner}


class _Function(Struct, frozen=True):
    """A function tool; fields beyond these say how OpenAI's own server keeps it."""

    name: str
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None


class _Custom(Struct, frozen=True):
    name: str
    description: str | None = None
    format: Json | None = None


def _tool(tool: Json) -> Json:
    kind = tool.get("type")
    if kind == "function":
        function = msgspec.convert(tool, _Function)
        return {"type": "function", "function": given(**msgspec.structs.asdict(function))}
    if kind == "custom":
        custom = msgspec.convert(tool, _Custom)
        return {
            "type": "custom",
            "custom": given(name=custom.name, description=custom.description, format=_grammar(custom.format)),
        }
    raise ValueError(
        f"tool {str(kind)[:40]!r} would run on the model's server; only function and custom tools are passed on"
    )


def _grammar(form: Json | None) -> Json | None:
    """Chat puts a grammar one level deeper."""
    if form is not None and form.get("type") == "grammar":
        return {"type": "grammar", "grammar": {name: value for name, value in form.items() if name != "type"}}
    return form


def _choice(choice: str | Json | None, spaces: Namespaces) -> Any:
    if choice is None or isinstance(choice, str):
        return choice
    kind = choice.get("type")
    if kind in ("function", "custom") and isinstance(choice.get("name"), str):
        return {"type": kind, kind: {"name": spaces.flat(choice)["name"]}}
    if kind == "allowed_tools" and isinstance(choice.get("tools"), list):
        tools = [_choice(tool, spaces) for tool in choice["tools"]]
        return {"type": kind, kind: {"mode": choice.get("mode", "auto"), "tools": tools}}
    raise ValueError(f"`tool_choice`: {str(kind)[:40]!r} is no choice among function and custom tools")


# ---- input items ----


class _Said(Struct, frozen=True):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Json]


class _Call(Struct, frozen=True):
    call_id: str
    name: str
    arguments: str = ""
    input: str = ""


class _Output(Struct, frozen=True):
    call_id: str
    output: str | list[Json]


def _take(item: Json, turns: Turns) -> None:
    kind = item.get("type", "message")
    if kind == "message":
        said = msgspec.convert(item, _Said)
        parts = _parts(said.content)
        if said.role == "assistant":
            turns.assistant("".join(_texts(parts, "what an assistant said")), [])
        else:
            turns.say("user" if said.role == "user" else "system", parts)
    elif kind == "function_call":
        call = msgspec.convert(item, _Call)
        turns.assistant(None, [function_call(call.call_id, call.name, call.arguments)])
    elif kind == "custom_tool_call":
        call = msgspec.convert(item, _Call)
        custom = {"name": call.name, "input": call.input}
        turns.assistant(None, [{"id": call.call_id, "type": "custom", "custom": custom}])
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output = msgspec.convert(item, _Output)
        turns.result(output.call_id, "\n".join(_texts(_parts(output.output), "a tool's output")))
    elif kind == "item_reference":
        raise ValueError(f"an item_reference: {_NO_STATE}")
    elif kind != "reasoning":  # a model's own thoughts, which no chat request can give back to it
        raise ValueError(f"an item of type {str(kind)[:40]!r} cannot be passed on")


def _parts(content: str | list[Json]) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_part(part) for part in content]


def _part(part: Json) -> Json:
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text") and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return {"type": "text", "text": part["refusal"]}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return image_part(part["image_url"], part.get("detail"))
    if kind == "input_file" and isinstance(part.get("file_data"), str):
        return {"type": "file", "file": given(file_data=part["file_data"], filename=part.get("filename"))}
    raise ValueError(f"a part of type {str(kind)[:40]!r} cannot be passed on as it is (files only with their data)")


def _texts(parts: list[Json], where: str) -> list[str]:
    if any(part["type"] != "text" for part in parts):
        raise ValueError(f"{where} can only hold text")
    return [part["text"] for part in parts]

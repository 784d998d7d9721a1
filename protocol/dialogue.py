"""Golden dialogues: what the harness says to an image in `image check`, and the pure judge of what came back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from protocol import VERSIONS
from protocol.codec import LineError, decode_agent, encode
from protocol.errors import shown
from protocol.messages import (
    AgentMessage,
    Answer,
    Ask,
    Cancel,
    HarnessMessage,
    Json,
    ModelCall,
    ModelChunk,
    ModelResult,
    Ready,
    ToolCall,
    ToolResult,
    Trajectory,
)
from protocol.strictjson import dump

_FOLDER = Path(__file__).parent / "dialogues"
_REPLIES = Path(__file__).parent / "replies.json"


class Dialogue(Struct, frozen=True, forbid_unknown_fields=True):
    """One dialogue. Conformance only: any `status` will do, whatever the answer is worth.

    `invoke` is the raw message, so that it may hold fields no struct of ours knows; a text `input` is sent
    `repeat_input` times in a row. `trajectory` says whether one must come.
    """

    name: str
    about: str
    invoke: dict[str, Any]
    tool_reply: Literal["ok", "error", "denied"] = "ok"
    model_reply: Literal["text", "error"] = "text"
    ask_reply: str = "Yes, please."
    on_start: Literal["invoke", "cancel_at_once", "close_stdin"] = "invoke"
    repeat_input: int = 1
    trajectory: Literal["required", "optional"] = "required"


def load_dialogues() -> tuple[Dialogue, ...]:
    """Every dialogue shipped with the protocol, by file name."""
    return tuple(msgspec.json.decode(path.read_bytes(), type=Dialogue) for path in sorted(_FOLDER.glob("*.json")))


def opening(dialogue: Dialogue) -> bytes:
    """The line (with LF) to send once `ready` came; empty for `close_stdin`, where stdin is closed instead."""
    if dialogue.on_start == "close_stdin":
        return b""
    if dialogue.on_start == "cancel_at_once":
        return encode(Cancel(reason="the run was stopped"))
    given = dialogue.invoke["input"]
    repeated = given * dialogue.repeat_input if isinstance(given, str) else given
    return dump({**dialogue.invoke, "input": repeated}) + b"\n"


def replies_to(dialogue: Dialogue, message: AgentMessage) -> tuple[HarnessMessage, ...]:
    """The harness's answer, one message or several; none where there is none to give (no call, or stdin is closed).

    Once cancelled every call is refused; a tool that `invoke` did not grant is denied, whatever `tool_reply` says.
    """
    if dialogue.on_start == "close_stdin":
        return ()
    cancelled = dialogue.on_start == "cancel_at_once"
    if isinstance(message, ToolCall):
        granted = message.name in {tool["name"] for tool in dialogue.invoke["tools"]}
        return (_tool_result(message.id, "denied" if cancelled or not granted else dialogue.tool_reply),)
    if isinstance(message, ModelCall):
        return _model_results(message, "error" if cancelled else dialogue.model_reply)
    if isinstance(message, Ask) and not cancelled:
        return (Answer(id=message.id, content=dialogue.ask_reply),)
    return ()


def check_transcript(
    dialogue: Dialogue, lines: Sequence[bytes | LineError], ended: bool, exit_code: int | None
) -> list[str]:
    """What does not conform, in order; empty: it conforms. Never raises, whatever the lines hold.

    `lines` is the agent's stdout as a `LineSplitter` gives it (its errors included); `ended` says whether the
    process went away by itself within the grace; `exit_code` is its status, None where that is not known.
    """
    problems: list[str] = []
    messages: list[tuple[int, AgentMessage]] = []
    for number, line in enumerate(lines, 1):
        try:
            if isinstance(line, LineError):
                raise line
            messages.append((number, decode_agent(line)))
        except LineError as err:
            problems.append(f"line {number}: {err}")
    problems += _check_ready(messages)
    problems += _check_calls(dialogue, messages)
    problems += _check_end(dialogue, messages, len(lines))
    problems += _check_exit(dialogue, messages, ended, exit_code)
    return problems


def _tool_result(call: str, status: Literal["ok", "error", "denied"]) -> ToolResult:
    if status == "ok":
        return ToolResult(id=call, status="ok", content={"result": "Returns are free within 60 days. ✅"})
    reason = "this tool is not allowed here" if status == "denied" else "UNAVAILABLE: try again later"
    return ToolResult(id=call, status=status, reason=reason)


class ModelReply(Struct, frozen=True, forbid_unknown_fields=True):
    """The one model answer of all dialogues in the shape of one API: whole, and as the deltas of a stream."""

    response: Json
    deltas: list[Json]


def model_replies() -> dict[str, ModelReply]:
    """By `api`; "" for a request that names none."""
    return msgspec.json.decode(_REPLIES.read_bytes(), type=dict[str, ModelReply])


def _model_results(call: ModelCall, reply: Literal["text", "error"]) -> tuple[ModelResult | ModelChunk, ...]:
    if reply == "error":
        return (ModelResult(id=call.id, error="no model is available", status=403),)
    api = call.request.get("api", "")
    found = model_replies().get(api) if isinstance(api, str) else None
    if found is None:
        return (ModelResult(id=call.id, error="there is no such api", status=400),)
    if not call.stream:
        return (ModelResult(id=call.id, response=found.response),)
    last = len(found.deltas) - 1
    return tuple(ModelChunk(call.id, delta, done=index == last) for index, delta in enumerate(found.deltas))


def _check_ready(messages: Sequence[tuple[int, AgentMessage]]) -> list[str]:
    if not messages:
        return ["no valid line came; expected `ready` before anything else"]
    problems = [f"line {number}: a second `ready`" for number, said in messages[1:] if isinstance(said, Ready)]
    number, first = messages[0]
    if not isinstance(first, Ready):
        return [f"line {number}: expected `ready` before anything else, came {_tag(first)}", *problems]
    if not set(first.protocol) & set(VERSIONS):
        ours, theirs = ", ".join(VERSIONS), shown(", ".join(first.protocol))
        problems.insert(0, f"line {number}: no shared protocol version; Fumehood speaks {ours}, the agent {theirs}")
    return problems


def _check_calls(dialogue: Dialogue, messages: Sequence[tuple[int, AgentMessage]]) -> list[str]:
    problems: list[str] = []
    used: set[str] = set()
    for number, said in messages:
        if not isinstance(said, ToolCall | ModelCall | Ask):
            continue
        if dialogue.on_start != "invoke":
            problems.append(f"line {number}: {_tag(said)} though no `invoke` was sent")
        if said.id in used:
            problems.append(
                f"line {number}: {_tag(said)} uses the id {shown(said.id)} again; expected a new one per call"
            )
        used.add(said.id)
    return problems


def _check_end(dialogue: Dialogue, messages: Sequence[tuple[int, AgentMessage]], count: int) -> list[str]:
    ends = [(number, said) for number, said in messages if isinstance(said, Trajectory)]
    if not ends:
        return ["no `trajectory` came; expected exactly one, as the last line"] if _must_end(dialogue) else []
    problems: list[str] = []
    number, end = ends[0]
    if number < count:
        problems.append(f"line {number + 1}: expected nothing after the `trajectory` of line {number}")
    if len(ends) > 1:
        problems.append(f"line {ends[1][0]}: expected one `trajectory`, came {len(ends)}")
    blank = not (end.output.text or "").strip() and end.output.data is None
    if end.status == "completed" and blank:
        problems.append(f"line {number}: `completed` with neither text nor data; expected one of them")
    return problems


def _check_exit(
    dialogue: Dialogue, messages: Sequence[tuple[int, AgentMessage]], ended: bool, exit_code: int | None
) -> list[str]:
    after = {"invoke": "its `trajectory`", "cancel_at_once": "`cancel`", "close_stdin": "end of file on stdin"}
    if not ended:
        return [f"still running; expected it to exit by itself after {after[dialogue.on_start]}"]
    done = any(isinstance(said, Trajectory) and said.status != "failed" for _, said in messages)
    if _must_end(dialogue) and done and exit_code not in (0, None):
        return [f"exit status {exit_code}; expected 0 after a `trajectory` that did not fail"]
    return []


def _must_end(dialogue: Dialogue) -> bool:
    return dialogue.trajectory == "required"


def _tag(said: AgentMessage) -> str:
    return f"`{said.__struct_config__.tag}`"

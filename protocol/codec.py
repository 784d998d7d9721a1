"""One line, one message: bytes to structs and back, for both ends of the channel."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from protocol.errors import LineCode, LineError, shown
from protocol.framing import LineSplitter
from protocol.messages import AgentMessage, HarnessMessage
from protocol.strictjson import dump, parse

__all__ = ["LineCode", "LineError", "LineSplitter", "decode_agent", "decode_harness", "encode"]


def _by_tag(union: Any) -> dict[str, Any]:
    return {struct.__struct_config__.tag: struct for struct in get_args(union)}


_AGENT = _by_tag(AgentMessage)
_HARNESS = _by_tag(HarnessMessage)


def decode_agent(line: bytes) -> AgentMessage:
    """The agent's message in `line` (its LF already cut off); unknown fields are refused. Raises LineError."""
    message: AgentMessage = _decode(line, _AGENT)
    return message


def decode_harness(line: bytes) -> HarnessMessage:
    """The harness's message in `line`, as an agent reads it: unknown fields are ignored. Raises LineError."""
    message: HarnessMessage = _decode(line, _HARNESS)
    return message


def encode(message: AgentMessage | HarnessMessage) -> bytes:
    """One line with its LF: compact, UTF-8, and always one that the decoder takes.

    Raises ValueError for NaN, infinities, lone surrogates and nesting beyond MAX_DEPTH.
    """
    try:
        plain = msgspec.to_builtins(message, str_keys=True)
    except RecursionError:
        raise ValueError("expected a message of bounded nesting, came one without end") from None
    return dump(plain) + b"\n"


def _decode(line: bytes, structs: dict[str, Any]) -> Any:
    plain = parse(line)
    if not isinstance(plain, dict):
        raise LineError("not_an_object", 0, f"expected an object, came {shown(line)}")
    tag = plain.get("type")
    struct = structs.get(tag) if isinstance(tag, str) else None
    if struct is None:
        came = shown(str(tag)) if isinstance(tag, str) else "no `type` that is text"
        raise LineError("unknown_type", 0, f"expected a `type` of {', '.join(structs)}; came {came}")
    try:
        return msgspec.convert(plain, struct)
    except msgspec.ValidationError as err:
        # The path at its end is made of our own field names; all before it may quote the agent.
        what, _, where = str(err).rpartition(" - at ")
        what, where = (what, where) if what else (where, "`$`")
        raise LineError("invalid_message", 0, f"{tag}: {shown(what)} at {shown(where)}") from None

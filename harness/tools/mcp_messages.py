"""Lines of JSON-RPC and MCP results, read from bytes nobody trusts; ValueError says what was wrong with them; pure."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from harness.ports import ToolAnswer

VERSION = "2025-06-18"
_VERSION = re.compile(r"20\d\d-[01]\d-[0-3]\d\Z")
MAX_DEPTH = 48
"""Of a result: the protocol to the agent and the journal put it some levels deeper, and bear 64."""
_INVALID_PARAMS = -32602
_REASON = 300


class Failure(Struct, frozen=True):
    code: int
    message: str = ""
    data: Any = None


class Incoming(Struct, frozen=True):
    """A response (`result` or `error`), a request (`method` and `id`) or a notification (`method` alone)."""

    jsonrpc: str
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Any = None
    result: Any = UNSET
    error: Failure | UnsetType = UNSET


class _Tool(Struct, frozen=True):
    name: str


class _Listed(Struct, frozen=True, rename="camel"):
    tools: list[_Tool]
    next_cursor: str | None = None


class _Called(Struct, frozen=True, rename="camel"):
    content: list[dict[str, Any]] = []
    structured_content: Any = None
    is_error: bool = False


def read_line(line: bytes) -> Incoming:
    """One message."""
    try:
        raw = json.loads(line.decode(), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)
        if b"\\u" in line:
            json.dumps(raw, ensure_ascii=False).encode()  # a lone surrogate is no character
        found = msgspec.convert(raw, Incoming)
    except RecursionError:
        raise ValueError("JSON nested too deep") from None
    except (UnicodeError, ValueError, msgspec.ValidationError) as error:
        raise ValueError(f"a line that is no JSON-RPC message ({str(error)[:100]})") from None
    if found.jsonrpc != "2.0" or (found.method is UNSET) == (found.result is UNSET and found.error is UNSET):
        raise ValueError("a line that is no JSON-RPC 2.0 request, notification or response")
    if _deeper(found.result, MAX_DEPTH):
        raise ValueError(f"a result nested deeper than {MAX_DEPTH} levels")
    return found


def version_of(said: Incoming) -> str:
    """The version of MCP it wants to speak; every dated one has the three requests we need."""
    version = said.result.get("protocolVersion") if isinstance(said.result, dict) else None
    if not isinstance(version, str) or not _VERSION.match(version):
        raise ValueError(f"no version of MCP ({_why(said)})")
    return version


def names_of(said: Incoming) -> tuple[list[str], str | None]:
    """Names of tools, and the cursor of the next page."""
    try:
        listed = msgspec.convert(said.result, _Listed)
    except msgspec.ValidationError as error:
        raise ValueError(f"no list of tools ({_why(said) or error})") from None
    return [tool.name for tool in listed.tools], listed.next_cursor


def answer_of(said: Incoming) -> ToolAnswer:
    """The answer of a call. Refused arguments and an error of the tool's own are answers too; all else is no answer.

    Content: `structuredContent` where there is any, else the text where that is all, else the list as it came.
    """
    if said.error is not UNSET:
        if said.error.code != _INVALID_PARAMS:
            raise ValueError(f"error {said.error.code}: {said.error.message[:_REASON]}")
        told = {"code": said.error.code, "message": said.error.message}
        return ToolAnswer("error", told, said.error.message[:_REASON] or "invalid arguments")
    try:
        called = msgspec.convert(said.result, _Called)
    except msgspec.ValidationError as error:
        raise ValueError(f"no result of a tool ({error})") from None
    texts = [str(item.get("text", "")) for item in called.content if item.get("type") == "text"]
    content: Any = called.structured_content
    if content is None:
        content = texts[0] if len(texts) == len(called.content) == 1 else list(called.content)
    if called.is_error:
        return ToolAnswer("error", content, texts[0][:_REASON] if texts and texts[0] else "the tool failed")
    return ToolAnswer("ok", content)


def _why(said: Incoming) -> str:
    return "" if said.error is UNSET else f"error {said.error.code}: {said.error.message[:_REASON]}"


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number without bound")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key twice in one object")
    return made


def _deeper(value: Any, limit: int) -> bool:
    """Breadth first, as a hostile value is as deep as the parser lets it."""
    level = [value]
    for _ in range(limit):
        level = [item for one in level for item in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []

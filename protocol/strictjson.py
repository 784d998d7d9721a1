"""JSON without its ambiguities: one reading per line, and each refusal with a code and an offset."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from protocol import MAX_DEPTH
from protocol.errors import LineCode, LineError, shown

# int() of a long digit string is quadratic, and CPython's own guard against it can be switched off from
# the environment; this one cannot. The sign counts as a digit.
_MAX_INT_CHARS = 4300

_STEP = bytes(1 if byte in b"[{" else 255 if byte in b"]}" else 0 for byte in range(256))
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
# Looking for the place of a refusal is slow (a megabyte a second), so a hostile line buys only so much of it.
_SEARCHED = 256 * 1024

_BRACKET = re.compile(rb'"[^"]*"?|[\[\]{}]')
_KEY = re.compile(rb'("[^"]*"?)([ \t\r\n]*:)?|[{}]')
_ATOM = re.compile(rb'"[^"]*"?|-?Infinity|NaN|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?')
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE = re.compile(
    rb"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]", re.DOTALL
)


class _Refused(Exception):
    """Raised inside the parser's hooks, which do not know where they are; `parse` finds the place."""

    def __init__(self, code: LineCode, came: str, expected: str, marks: Callable[[bytes], bool] | None = None) -> None:
        super().__init__(code)
        self.code: LineCode = code
        self.message = f"expected {expected}, came {shown(came)}"
        self.marks = marks


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Refused("duplicate_key", twice, "each key once in an object")
    return made


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _Refused("not_finite", text, "a finite number", _overflows)
    return number


def _constant(text: str) -> float:
    raise _Refused("not_finite", text, "a finite number", lambda atom: atom in (b"NaN", b"Infinity", b"-Infinity"))


def _integer(text: str) -> int:
    if len(text) > _MAX_INT_CHARS:
        raise _Refused("bad_json", text, f"an integer of at most {_MAX_INT_CHARS} digits", _oversized)
    return int(text)


def _overflows(atom: bytes) -> bool:
    return atom[-1:].isdigit() and not atom.removeprefix(b"-").isdigit() and math.isinf(float(atom))


def _oversized(atom: bytes) -> bool:
    return len(atom) > _MAX_INT_CHARS and atom.removeprefix(b"-").isdigit()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_int=_integer, parse_constant=_constant
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parse(line: bytes) -> Any:
    """The value of one line, without its LF; raises LineError. Arrays and objects nest at most MAX_DEPTH deep."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as err:
        came = shown(line[err.start : err.start + 4])
        raise LineError("invalid_utf8", err.start, f"expected UTF-8, came {came}") from None
    deep = _too_deep(line)
    if deep is not None:
        raise LineError("too_deep", deep, f"expected at most {MAX_DEPTH} levels of nesting, came more")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as err:
        offset = len(text[: err.pos].encode())
        came = shown(line[offset : offset + 40]) or "the end of the line"
        raise LineError("bad_json", offset, f"expected JSON ({err.msg}), came {came}") from None
    except _Refused as err:
        raise LineError(err.code, _place(line, err.marks), err.message) from None
    _refuse_lone_surrogates(line)
    return value


def dump(value: Any) -> bytes:
    """Compact UTF-8 of plain data, without LF; ValueError for NaN, infinities, lone surrogates, or what is too deep."""
    try:
        line = _ENCODER.encode(value).encode("utf-8")
    except RecursionError:
        raise ValueError(f"expected at most {MAX_DEPTH} levels of nesting, came more") from None
    if _too_deep(line) is not None:
        raise ValueError(f"expected at most {MAX_DEPTH} levels of nesting, came more")
    return line


def _masked(line: bytes) -> bytes:
    """`line`, as long as before, with its escaped backslashes and quotes blanked: each `"` left bounds a string."""
    return line.replace(b"\\\\", b"__").replace(b'\\"', b"__")


def _too_deep(line: bytes) -> int | None:
    """Offset of the first bracket nested too deep, or None. Never recurses; long lines are counted at C speed.

    What follows the first syntax error may be counted wrongly, which is harmless: such a line is refused anyway.
    """
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return None
    masked = _masked(line)
    outside = b"".join(masked.split(b'"')[::2])
    steps = array("b", outside.translate(_STEP, _NOT_BRACKETS))
    if max(accumulate(steps), default=0) <= MAX_DEPTH:
        return None
    depth = 0
    for found in _BRACKET.finditer(masked, 0, _SEARCHED):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found.group(), 0)
        if depth > MAX_DEPTH:
            return found.start()
    return 0


def _place(line: bytes, marks: Callable[[bytes], bool] | None) -> int:
    """Where the parser's hook refused: the first atom that `marks` knows, or the first repeated key; else 0."""
    masked = _masked(line)
    if marks is None:
        return _repeated_key(line, masked)
    return next((found.start() for found in _ATOM.finditer(masked, 0, _SEARCHED) if marks(found.group())), 0)


def _repeated_key(line: bytes, masked: bytes) -> int:
    """Offset of the first key an object already has; keys are compared unescaped, as the parser does."""
    objects: list[set[str]] = []
    for found in _KEY.finditer(masked, 0, _SEARCHED):
        if found.group() == b"{":
            objects.append(set())
        elif found.group() == b"}":
            objects.pop()
        elif found.group(2):
            key = json.loads(line[found.start(1) : found.end(1)])
            if key in objects[-1]:
                return found.start()
            objects[-1].add(key)
    return 0


def _refuse_lone_surrogates(line: bytes) -> None:
    """UTF-8 holds no surrogates, so only `\\u` escapes can make one; pairs (an escaped emoji) are fine."""
    if not _SURROGATE.search(line):
        return
    found = _LONE.search(line.replace(b"\\\\", b"__"))
    if found:
        came = shown(line[found.start() : found.start() + 6])
        raise LineError("lone_surrogate", found.start(), f"expected surrogates in pairs, came {came}")

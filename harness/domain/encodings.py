"""The many spellings of one secret: needles to look for, and decoded views of a text to look in.

A view is a decoded copy of a text that can say which original bytes a stretch of it came from, so that
what is found in a decoded copy can be masked in the original.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

MIN_SECRET = 6
"""Shorter values are not looked for: they would mask ordinary words and numbers, and each mask would then
tell a reader where the value's letters stand."""

MAX_EXPANSION = 12
"""No spelling claimed here takes more bytes per secret byte than this (double-escaped `\\u0073` takes 8)."""

_URL = rb"%[0-9A-Fa-f]{2}"
_JSON = (
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[\"\\/bfnrt']"
)
_HTML = rb"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|quot|amp|lt|gt|apos);"
_KINDS = ((b"%", re.compile(_URL)), (b"\\", re.compile(_JSON)), (b"&", re.compile(_HTML)))
_ALL = re.compile(b"|".join((_URL, _JSON, _HTML)))
_ROUNDS = 5

_SIMPLE = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_NAMED = {b"&quot;": b'"', b"&amp;": b"&", b"&lt;": b"<", b"&gt;": b">", b"&apos;": b"'"}

HEX_GAPS = b" \t\r\n:,-"
BASE64_GAPS = b" \t\r\n"
LOWER = bytes(ord(chr(i).lower()) if i < 128 else i for i in range(256))
STANDARD_BASE64 = bytes.maketrans(b"-_", b"+/")


def to_bytes(text: str) -> bytes:
    """UTF-8, lone surrogates kept, so that any string comes back from `to_text` unchanged."""
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """The inverse of `to_bytes`; bytes that are no UTF-8 become U+FFFD."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _code_point(number: int) -> bytes:
    return to_bytes(chr(number)) if number < 0x110000 else b"?"


@lru_cache(maxsize=4096)
def _decode(token: bytes) -> bytes:
    if token[:1] == b"%":
        return bytes((int(token[1:], 16),))
    if token[:1] == b"&":
        if token in _NAMED:
            return _NAMED[token]
        digits = token[2:-1]
        return _code_point(int(digits[1:], 16) if digits[:1] in b"xX" else int(digits))
    if len(token) == 12:
        high, low = int(token[2:6], 16), int(token[8:12], 16)
        return _code_point(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if token[1:2] in b"ux" and len(token) > 2:
        return _code_point(int(token[2:], 16)) if token[1:2] == b"u" else bytes((int(token[2:], 16),))
    return _SIMPLE.get(token[1:], token[1:])


class View:
    """Bytes derived from a text; `origin` maps a stretch of them back to the text's own bytes."""

    def __init__(self, data: bytes, parent: View | None = None, marks: list[tuple[int, int, int, int]] | None = None):
        self.data = data
        self._parent = parent
        self._marks = marks or []
        self._starts: list[int] | None = None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """[start, end) of this view as [start, end) of the original text, widened to whole escapes."""
        if self._parent is None:
            return start, end
        if self._starts is None:
            self._starts = [mark[0] for mark in self._marks]
        return self._parent.origin(self._locate(start)[0], self._locate(end - 1)[1])

    def _locate(self, position: int) -> tuple[int, int]:
        assert self._starts is not None
        index = bisect_right(self._starts, position) - 1
        if index < 0:
            return position, position + 1
        _, out_end, in_start, in_end = self._marks[index]
        if position < out_end:
            return in_start, in_end
        shifted = in_end + position - out_end
        return shifted, shifted + 1


def _unescape(view: View, pattern: re.Pattern[bytes]) -> View | None:
    data = view.data
    pieces: list[bytes] = []
    marks: list[tuple[int, int, int, int]] = []
    last = size = 0
    for match in pattern.finditer(data):
        start, end = match.span()
        decoded = _decode(match[0])
        size += start - last
        marks.append((size, size + len(decoded), start, end))
        size += len(decoded)
        pieces += (data[last:start], decoded)
        last = end
    if not marks:
        return None
    pieces.append(data[last:])
    return View(b"".join(pieces), view, marks)


def views(data: bytes) -> Iterator[View]:
    """`data` itself, then each step of undoing URL, JSON and HTML escapes: each kind alone, then all mixed.

    Each kind is also undone alone because what stands before a secret may otherwise swallow its first
    characters (`100%` before a value that begins with two hex digits).
    """
    first = View(data)
    yield first
    kinds = [pattern for sign, pattern in _KINDS if sign in data]
    if not kinds:
        return
    # `_ALL` alone is enough for one kind, and also undoes what that kind uncovers
    for pattern in [*kinds, _ALL] if len(kinds) > 1 else [_ALL]:
        view = first
        for _ in range(_ROUNDS):
            decoded = _unescape(view, pattern)
            if decoded is None:
                break
            yield (view := decoded)


def kept_positions(data: bytes, dropped: bytes) -> list[int]:
    """Index in `data` of each byte that is not in `dropped`: the map of a view made by deleting bytes."""
    gone = frozenset(dropped)
    return [index for index, byte in enumerate(data) if byte not in gone]


class Base64Needle(Struct, frozen=True):
    """The characters that only the secret decides, and whether it also reaches into a neighbour on each side."""

    core: bytes
    before: int
    after: int


def base64_needles(raw: bytes) -> tuple[Base64Needle, ...]:
    """`raw` inside a longer base64 text, at each of the three alignments, in the standard alphabet."""
    needles = []
    for lead in range(3):
        first_bit, last_bit = 8 * lead, 8 * (lead + len(raw))
        start, stop = -(-first_bit // 6), last_bit // 6
        text = base64.b64encode(b"\0" * lead + raw + b"\0" * 3)
        needles.append(Base64Needle(text[start:stop], int(first_bit % 6 > 0), int(last_bit % 6 > 0)))
    return tuple(needles)


class Needles(Struct, frozen=True):
    """What to look for, for one secret. `plain` are literal forms, `hex` is lower case."""

    plain: tuple[bytes, ...]
    hex: bytes
    base64: tuple[Base64Needle, ...]

    @property
    def longest(self) -> int:
        """Upper bound in bytes of any claimed spelling."""
        return MAX_EXPANSION * len(self.plain[0]) + 64


def needles_of(value: str) -> Needles | None:
    """None where `value` (white space around it dropped) is shorter than `MIN_SECRET`."""
    value = value.strip()
    if len(value) < MIN_SECRET:
        return None
    raw = to_bytes(value)
    forms = [raw, to_bytes(value[::-1])]
    if " " in value:
        forms.append(raw.replace(b" ", b"+"))
    # a value that itself holds escapes is also seen unescaped in the decoded views
    forms += [view.data for view in views(raw) if len(to_text(view.data)) >= MIN_SECRET]
    return Needles(tuple(dict.fromkeys(forms)), raw.hex().encode(), base64_needles(raw))

"""Text from outside on its way to a terminal: shown, but inert."""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udfff]"
)


def clean(text: str, limit: int | None = None) -> str:
    """`text` with control, bidi, zero-width and surrogate characters escaped; cut at `limit` characters."""
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return _UNSAFE.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 0x100 else f"\\u{ord(m[0]):04x}", text)


def one_line(text: str, limit: int | None = None) -> str:
    """Like `clean`, with line breaks and tabs escaped too."""
    return clean(text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t"), limit)

"""Text from outside on its way to a terminal: shown, but inert."""

from __future__ import annotations

import re

_NO_CHARACTERS = "\ufdd0-\ufdef" + "".join(
    chr(plane + low) for plane in range(0, 0x110000, 0x10000) for low in (0xFFFE, 0xFFFF)
)
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    f"\U000e0000-\U000e007f{_NO_CHARACTERS}]|[\ud800-\udfff]"
)


def clean(text: str, limit: int | None = None) -> str:
    """`text` with control, bidi, zero-width, tag and surrogate characters and noncharacters escaped.

    Cut at `limit` characters before that. What comes out is valid in XML 1.0 too, once `<`, `&` and quotes are escaped.
    """
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return _UNSAFE.sub(lambda m: _escape(ord(m[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str, limit: int | None = None) -> str:
    """Like `clean`, with line breaks and tabs escaped too."""
    return clean(text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t"), limit)

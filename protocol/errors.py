"""What is wrong with a line: one exception, its closed set of codes, and the safe echo of hostile text."""

from __future__ import annotations

from typing import Literal

LineCode = Literal[
    "line_too_long",
    "incomplete_line",
    "invalid_utf8",
    "too_deep",
    "bad_json",
    "duplicate_key",
    "not_finite",
    "lone_surrogate",
    "not_an_object",
    "unknown_type",
    "invalid_message",
]

_ECHO = 80


class LineError(Exception):
    """A line that is refused.

    `code` is machine-readable; `offset` is the byte inside the line (from 0) where the offending byte or
    token starts, or 0 where the line as a whole is meant (not_an_object, unknown_type, invalid_message) or
    the place lies beyond the first 256 KiB (too_deep, duplicate_key, not_finite, an oversized integer);
    `message` says what was expected and what came, and is safe to print.
    """

    def __init__(self, code: LineCode, offset: int, message: str) -> None:
        super().__init__(code, offset, message)
        self.code: LineCode = code
        self.offset = offset
        self.message = message

    def __str__(self) -> str:
        return f"{self.code} at byte {self.offset}: {self.message}"


def shown(came: str | bytes) -> str:
    """At most 80 printable ASCII characters for text nobody trusts; longer text ends in `...`."""
    echo = repr(came[:_ECHO])[2:-1] if isinstance(came, bytes) else ascii(came[:_ECHO])[1:-1]
    whole = len(came) <= _ECHO and len(echo) <= _ECHO
    return echo if whole else f"{echo[: _ECHO - 3]}..."

"""Well-known shapes of keys and tokens, masked even where their value is not known to us.

Each has an anchor, a literal looked for first, so that a text without any costs next to nothing. Every
pattern is linear in the text: no stretch is scanned again from a second start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

SHORTEST_KEY = 15
"""No pattern here matches fewer characters."""


class KeyPattern(Struct, frozen=True):
    """`group` is the part that gets masked."""

    name: str
    anchors: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    group: int = 0


# a digit is asked for where words joined by hyphens would match otherwise (`sk-learn-compatible-estimator`)
# (bounded: an unbounded look-ahead would be quadratic on `sk-sk-sk-...`)
_DIGIT = rb"(?=[A-Za-z_-]{0,60}[0-9])"

KEY_PATTERNS = (
    KeyPattern("anthropic-key", (b"sk-ant-",), re.compile(rb"\bsk-ant-" + _DIGIT + rb"[A-Za-z0-9_-]{16,}")),
    KeyPattern("openai-key", (b"sk-",), re.compile(rb"\bsk-(?!ant-)" + _DIGIT + rb"[A-Za-z0-9_-]{16,}")),
    KeyPattern(
        "github-token",
        (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
        re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    ),
    KeyPattern("aws-access-key", (b"AKIA", b"ASIA"), re.compile(rb"\bA[KS]IA[0-9A-Z]{16}(?![0-9A-Z])")),
    KeyPattern("google-api-key", (b"AIza",), re.compile(rb"\bAIza[0-9A-Za-z_-]{35}")),
    KeyPattern("slack-token", (b"xox",), re.compile(rb"\bxox[abeprs]-[0-9A-Za-z-]{10,}")),
    KeyPattern(
        "jwt", (b"eyJ",), re.compile(rb"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*")
    ),
    KeyPattern(
        "private-key",
        (b"PRIVATE KEY-----",),
        re.compile(
            rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s\\.:,]|-(?!----))*"
            rb"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?"
        ),
    ),
    KeyPattern(
        "bearer-token",
        (b"earer",),
        re.compile(rb"\b[Bb]earer\s{1,20}((?=[A-Za-z._~+/-]{0,60}[0-9])[A-Za-z0-9._~+/-]{16,}=*)"),
        group=1,
    ),
)


def key_spans(data: bytes) -> Iterator[tuple[int, int, str]]:
    """(start, end, pattern name) of each stretch that has the shape of a key."""
    for known in KEY_PATTERNS:
        if any(anchor in data for anchor in known.anchors):
            for match in known.pattern.finditer(data):
                yield *match.span(known.group), known.name

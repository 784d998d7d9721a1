"""Fences: evidence stands between lines with a nonce it cannot hold, and cannot speak as a chat template."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from msgspec import Struct

from harness.scoring.judge.evidence import Evidence, Piece

MIN_QUOTE = 3
"""Characters of a quote, unless it is all there is of a piece: less stands anywhere."""
TASK = "task"
NONCE_LENGTH = 16

_BREAKS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")
_TAGS = "s|bos|eos|unk|pad|human|user|assistant|system|think|tool_calls?|tool_responses?|(?:start|end)_of_\\w+"
_MARKS = "INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS"
_TEMPLATE = re.compile(
    rf"<(?=[|｜]|/?(?:{_TAGS})>|<?/?SYS>>)|[|｜](?=[>\]])|\[(?=[|｜]|/?(?:{_MARKS})\])",
    re.IGNORECASE,
)
"""The first character of what a local model's tokenizer or template takes for the end of a turn."""
_ROLES = "system|user|assistant|human|ai|model|developer|tool|instructions?|response|judge"
_HEADER = re.compile(
    rf"^(?=[ \t#*_<\[(>|-]*(?:{_ROLES})[ \t*_>\])]*[:：]|[ \t]*[=＝]{{3}})",
    re.IGNORECASE | re.MULTILINE,
)
"""The start of a line that looks like a role's header, or like one of our fences."""


class Shown(Struct, frozen=True):
    """Evidence as a judge sees it: `text` with its fences, and each piece's (line, words) for quotes to be found in.

    The words of the task come last, with line 0: what stands in both is taken from what was observed.
    """

    nonce: str
    text: str
    words: tuple[tuple[int, str], ...]

    def find(self, quote: str) -> int | None:
        """The journal line `quote` stands in word for word, white space aside; None: nowhere, or too short to tell."""
        wanted = normal(quote)
        for line, words in self.words:
            if wanted == words and wanted:
                return line
        if len(wanted) < MIN_QUOTE or not any(map(str.isalnum, wanted)):
            return None
        return next((line for line, words in self.words if wanted in words), None)


def show(evidence: Evidence, seed: int) -> Shown:
    """`evidence` between fences; equal evidence and seeds give equal bytes."""
    pieces = [Piece(0, TASK, "", evidence.task), *evidence.pieces]
    bodies = [inert(f"{piece.name}\n{piece.text}" if piece.name else piece.text) for piece in pieces]
    nonce = nonce_for(evidence.digest, seed, bodies)
    blocks = [_fenced(nonce, at, piece, body) for at, (piece, body) in enumerate(zip(pieces, bodies, strict=True))]
    words = [(piece.line, normal(body)) for piece, body in zip(pieces, bodies, strict=True)]
    return Shown(nonce, "\n".join(blocks), (*words[1:], words[0]))


def nonce_for(digest: str, seed: int, texts: Iterable[str]) -> str:
    """Hex that stands in none of `texts`. Whoever writes into them would have to know their own digest."""
    folded = [text.casefold() for text in texts]
    counter = 0
    while True:
        nonce = hashlib.sha256(f"{digest}:{seed}:{counter}".encode()).hexdigest()[:NONCE_LENGTH]
        if not any(nonce in text for text in folded):
            return nonce
        counter += 1


def inert(text: str) -> str:
    """`text` without what is not seen, its template tokens broken by a space, its role headers behind a `>`."""
    text = _BREAKS.sub("\n", text)
    # Before the tokens are looked for: what is not seen could hide them.
    text = "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in _UNSEEN)
    return _HEADER.sub("> ", _TEMPLATE.sub(r"\g<0> ", text))


def normal(text: str) -> str:
    """White space of any kind and length as one space."""
    return " ".join(text.split())


def _fenced(nonce: str, at: int, piece: Piece, body: str) -> str:
    # Nothing anybody else wrote stands on these lines: a tool's name is inside.
    where = f", journal line {piece.line}" if piece.line else ""
    kind = re.sub(r"[^A-Za-z0-9 ()_-]", "", piece.kind)[:60]
    return f"===== {nonce} BEGIN {at}: {kind}{where} =====\n{body}\n===== {nonce} END {at} ====="

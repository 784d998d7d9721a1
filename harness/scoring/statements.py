"""Plain statements found in a text or in data: that a field has a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from harness.scoring.values import quote
from harness.scoring.words import Key, Token, number_token, spaced, tokens

MAX_FIELD_WORDS = 4
MAX_VALUE_WORDS = 8
"""A longer value is prose, and no statement."""

_CLAUSE = re.compile(r"[\n;!?]|[.,](?=\s|\Z)")
_SIGN = re.compile(r"(?<!\d)\s?[:=](?![/\d:=])\s?|(?<!\d)[:=](?=\d)|\s(is|are|was|were|equals)\s", re.IGNORECASE)
_YES_NO = {"yes": "true", "no": "false", "true": "true", "false": "false"}
_NEGATIONS = frozenset(("not", "no", "never", "none", "cannot", "without"))
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")

Form = Literal["data", "field", "verb", "count"]


class Statement(Struct, frozen=True):
    """`field`: folded words. `value`: one number, or the set of folded words of a text.

    `form`: of data; `days: 60`; `the window is 60`; `60 days`.
    """

    field: tuple[Key, ...]
    value: Decimal | frozenset[Key]
    form: Form
    shown: str


def in_text(text: str) -> Iterator[Statement]:
    """Those of a text, clause by clause; a negated one, or one whose value is prose, states nothing."""
    for clause in _CLAUSE.split(text):
        said = _meaning(tokens(clause))
        if not negated(clause):
            yield from _counts(said, clause)
        sign = _SIGN.search(clause)
        if sign is None:
            continue
        field, value = clause[: sign.start()], clause[sign.end() :]
        words = tuple(token.key for token in _meaning(tokens(field)))[-MAX_FIELD_WORDS:]
        read = _value(value, verb=bool(sign[1]))
        denied = negated(field) or (negated(value) and value.strip().casefold() not in _YES_NO)
        if words and read is not None and not denied:
            yield Statement(words, read, "verb" if sign[1] else "field", _shown(clause))


def in_data(value: Any, path: tuple[str, ...] = ()) -> Iterator[Statement]:
    """A statement for each leaf under a key; texts in it may state more."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from in_data(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from in_data(item, path)
    else:
        if isinstance(value, str):
            yield from in_text(value)
        leaf = _leaf(value)
        words = tuple(token.key for token in _meaning(tokens(spaced(path[-1]))))[-MAX_FIELD_WORDS:] if path else ()
        if words and leaf is not None:
            yield Statement(words, leaf, "data", f"{path[-1][:60]}: {quote(value)}")


def suffixes(field: Sequence[Key]) -> Iterator[tuple[Key, ...]]:
    """`return window days` may be called `window days`, or `days`."""
    for start in range(len(field)):
        yield tuple(field[start:])


def negated(text: str) -> bool:
    """A word in it says no."""
    words = _WORD.findall(text.casefold())
    return any(word in _NEGATIONS or word.endswith(("n't", "n\u2019t")) for word in words)


def _counts(said: Sequence[Token], clause: str) -> Iterator[Statement]:
    """A number right before a word: 60 days, 60-day."""
    for number, noun in pairwise(said):
        near = noun.start - number.end <= 1
        if near and isinstance(number.key, Decimal) and noun.kind == "word":
            yield Statement((noun.key,), number.key, "count", _shown(clause))


def _value(text: str, verb: bool) -> Decimal | frozenset[Key] | None:
    """The number where it stands first and alone, else the words where there are few; after a verb only a number."""
    said = _meaning(tokens(text))
    numbers = [token.key for token in said if isinstance(token.key, Decimal)]
    if len(numbers) == 1 and said[0].key == numbers[0]:
        return numbers[0]
    if verb:
        return None
    lone = _YES_NO.get(text.strip().casefold())
    return frozenset({lone}) if lone else _words(said)


def _leaf(value: Any) -> Decimal | frozenset[Key] | None:
    if isinstance(value, bool):
        return frozenset({"true" if value else "false"})
    if isinstance(value, int | float):
        key = number_token(value).key
        return key if isinstance(key, Decimal) else None
    return _value(value, verb=False) if isinstance(value, str) else None


def _words(said: Sequence[Token]) -> frozenset[Key] | None:
    return frozenset(token.key for token in said) if 0 < len(said) <= MAX_VALUE_WORDS else None


def _meaning(said: Sequence[Token]) -> list[Token]:
    return [token for token in said if token.meaningful]


def _shown(clause: str) -> str:
    return clause.strip()[:120]

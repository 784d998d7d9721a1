"""Words, numbers and identifiers of a text, folded so that two spellings of one thing are equal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from msgspec import Struct

from harness.scoring.values import quote

_CLAIMLESS = """
    a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each either else ever every few for from further get gets got had has have
    having he her here hers him his how however i if in into is it its itself just let like may me might mine more most
    much must my nor now of off on once one only or other our ours out over own per please same shall she should so some
    such than that the their theirs them then there these they this those through thus to too under until up upon us
    very was we were what when where whether which while who whom whose why will with within would yes yet you your
    yours no not never none cannot ok okay hello hi dear thank thanks sorry regards
"""
_SMALL = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_LARGER = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = {word: Decimal(value) for value, word in enumerate(_SMALL.split()) if word != "one"}
TENS = {word: Decimal(10 * value) for value, word in enumerate(_LARGER.split(), 2)}
SCALES = {"hundred": Decimal(100), "thousand": Decimal(1000), "million": Decimal(1_000_000)}
"""Number words; `one` is left a stop word, as it mostly counts nothing."""

_LONGEST_NUMBER = 60
_TOKEN = re.compile(
    r"""
    (?P<ident>[^\W\d_]+[-_]?\d[\w-]*)
    | (?P<number>(?:(?<![\w.)\]])[-\u2212])?
        (?:\d{1,3}(?:[,'\u2019_]\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?!\w))?)
    | (?P<word>[^\W\d_]+(?:['\u2019][^\W\d_]+)*)
    """,
    re.VERBOSE,
)
_LIST_MARK = re.compile(r"^[ \t]*(\d{1,3})[.)](?=\s)", re.MULTILINE)
_WIDE_GAP = re.compile(r"(?<=\d)[\u00a0\u202f\u2009](?=\d{3}(?!\d))")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_CONTRACTED = ("n't", "'re", "'ve", "'ll", "'m", "'d")

Key = str | Decimal
Kind = Literal["word", "number", "ident"]


class Token(Struct, frozen=True):
    """`key`: a folded word or identifier, or a number by value; `text` as it was written, `start` and `end` where."""

    key: Key
    text: str
    start: int
    end: int
    kind: Kind = "word"

    @property
    def meaningful(self) -> bool:
        """A number, an identifier, or a word of two letters and more that is no stop word."""
        if self.kind != "word" or not isinstance(self.key, str):
            return True
        short = self.text.casefold().replace("\u2019", "'").endswith(_CONTRACTED)
        return len(self.key) > 1 and self.key not in STOP and not short


def tokens(text: str) -> list[Token]:
    """In order. Numbers are equal by value (1,000 is 1000.0, and so is one thousand); sequence numbers of a
    list are none. `LK-1047` is one identifier, `60-day` a number and a word. Places are those of the text with
    compatibility forms and accents folded away, which are its own where it is ASCII."""
    plain = _unaccented(text)
    found: list[Token] = []
    marks = _list_marks(plain)
    for match in _TOKEN.finditer(plain):
        if match.start() not in marks:
            _append(found, match, plain)
    return found


def tokens_of(value: Any) -> Iterator[Token]:
    """Of every key and value in JSON data; true, false and null claim nothing by themselves."""
    if isinstance(value, str):
        yield from tokens(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield number_token(value)
    elif isinstance(value, list):
        for item in value:
            yield from tokens_of(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tokens(spaced(key))
            yield from tokens_of(item)


def number_token(value: int | float) -> Token:
    return Token(_number(repr(value)) if isinstance(value, float) else Decimal(value), quote(value), 0, 0, "number")


def spaced(key: str) -> str:
    """A key of data as words: `returnWindow` and `return_window` are two."""
    return _CAMEL.sub(" ", key).replace("_", " ")


def fold(word: str) -> str:
    """Lower case, without a possessive or plural ending."""
    word = word.casefold().replace("\u2019", "'")
    word = word.removesuffix("'s").replace("'", "")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _unaccented(text: str) -> str:
    if text.isascii():
        return text
    text = _WIDE_GAP.sub(",", text)
    # Marks go first: to sort a long run of them takes quadratic time. Two ligatures would become whole phrases.
    bare = "".join(char for char in text if not unicodedata.combining(char) and char not in "\ufdfa\ufdfb")
    return "".join(char for char in unicodedata.normalize("NFKD", bare) if not unicodedata.combining(char))


def _list_marks(text: str) -> set[int]:
    """Where 1. 2. 3. stand at the beginning of lines, in sequence: they count lines, nothing else."""
    marks, last = set(), 0
    for match in _LIST_MARK.finditer(text):
        value = int(match[1])
        if value in (1, last + 1):
            marks.add(match.start(1))
            last = value
    return marks


def _append(found: list[Token], match: re.Match[str], text: str) -> None:
    written, start, end = match[0], match.start(), match.end()
    if match["ident"]:
        key = re.sub("[-_]", "", written.casefold())
        found.append(Token(key, written, start, end, "ident"))
    elif match["number"]:
        found.append(Token(_number(written), written, start, end, "number"))
    else:
        _append_word(found, Token(fold(written), written, start, end), text)


def _append_word(found: list[Token], word: Token, text: str) -> None:
    """Number words become numbers; twenty-five and two thousand are one."""
    lower = word.text.casefold()
    last = found[-1] if found and text[found[-1].end : word.start] in (" ", "-") else None
    before = last.key if last is not None and isinstance(last.key, Decimal) else None
    if lower in SCALES:
        value = SCALES[lower] * (Decimal(1) if before is None else before)
    elif lower in UNITS and before is not None and last is not None and last.text.casefold() in TENS:
        value = before + UNITS[lower]
    else:
        single = UNITS.get(lower, TENS.get(lower))
        found.append(word if single is None else Token(single, word.text, word.start, word.end, "number"))
        return
    start = word.start
    if last is not None and before is not None:
        found.pop()
        start = last.start
    found.append(Token(value, text[start : word.end], start, word.end, "number"))


def _number(text: str) -> Key:
    """By value; one too long to be a quantity stays a text, so that nothing is rounded."""
    bare = re.sub("[,'\u2019_]", "", text).replace("\u2212", "-")
    try:
        return Decimal(bare) if len(bare) <= _LONGEST_NUMBER else bare
    except InvalidOperation:
        return bare


STOP = frozenset(map(fold, _CLAIMLESS.split()))
"""Words that claim nothing by themselves, folded."""

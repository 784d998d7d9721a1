"""Checks of statements against each other: factual_consistency with tool results, contradiction_detection within.

Both are modest: they read `days: 60`, `the window is 60`, `60 days` and JSON fields, and no other grammar.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct, structs

from harness.domain.outcome import End
from harness.scoring.check import NoParams, Result, failed, not_applicable, passed
from harness.scoring.sources import Source, lines_of, results, too_long, user
from harness.scoring.statements import Statement, in_data, in_text, negated, suffixes
from harness.scoring.trial import Answer, Trial
from harness.scoring.values import plain, quote
from harness.scoring.words import Key, tokens

_NAMED = 3
_PIECE = re.compile(r"([\n;:!?]|[.,](?=\s|\Z)|\b(?:and|but|yet|however|although|though)\b)", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|unless|when|whether|until|before|after|not only)\b", re.IGNORECASE)

Facts = dict[tuple[Key, ...], list[Statement]]


class FactualConsistency(Struct, frozen=True, forbid_unknown_fields=True):
    threshold: Annotated[float, Meta(gt=0, le=1)] = 1.0


def factual_consistency(trial: Trial, params: FactualConsistency) -> Result:
    """consistent / comparable statements of the answer is at least `threshold`.

    A statement gives a field a value: a JSON field, `days: 60` or `days = 60`, `the window is 60`, `60 days`. It is
    comparable where tool results give a field of that name (its last words are enough) a value of the same kind,
    and consistent where it equals one of them: numbers by value; a short text where the words of one are among
    those of the other. What the user said counts as a fact too, as an answer may repeat it. Negated statements and
    values of more than 8 words are left out; without any comparable one the check is not applicable.
    """
    answer = trial.answer
    if answer is None or trial.outcome.end is End.REFUSED:
        return not_applicable(f"the agent claimed nothing: it ended {trial.outcome.end}", (trial.end_line,))
    expected = f"expected at least {params.threshold:.4g} of the statements to agree with tool results"
    if problem := too_long(answer):
        return failed(f"{expected}, came {problem}", (answer.line,))
    sources = results(trial)
    facts = _facts([*sources, *user(trial)])
    compared = [(stated, known) for stated in _stated(answer) if (known := _comparable(stated, facts))]
    if not compared:
        return not_applicable("no statement of the answer can be compared with a tool result", (answer.line,))
    wrong = [(stated, known) for stated, known in compared if not any(_agree(stated, fact) for fact in known)]
    value = (len(compared) - len(wrong)) / len(compared)
    which = "".join(f"; {quote(stated.shown)}, not {quote(known[0].shown)}" for stated, known in wrong[:_NAMED])
    judged = passed if value >= params.threshold else failed
    reason = f"{expected}, came {len(compared) - len(wrong)} of {len(compared)}{which}"
    result = judged(plain(reason), (answer.line, *lines_of(sources)))
    return structs.replace(result, value=value, threshold=params.threshold)


def contradiction_detection(trial: Trial, params: NoParams) -> Result:
    """The answer does not say both X and not X, nor give one field two values; value: contradictions found.

    X and not X: two clauses with the same meaningful words, of which one is negated; a JSON field that is true or
    false counts as such a clause. Questions and conditions (if, unless, when, until, not only ...) state nothing.
    Two values: `total: 50` or `the total is 50` in the text and another value for the same words there, or in the
    data. Where several fields come equally often, twice or more, the text is a list of records and they are not
    compared.
    """
    answer = trial.answer
    if answer is None or trial.outcome.end is End.REFUSED:
        return not_applicable(f"the agent claimed nothing: it ended {trial.outcome.end}", (trial.end_line,))
    expected = "expected an answer that does not contradict itself"
    if problem := too_long(answer):
        return failed(f"{expected}, came {problem}", (answer.line,))
    found = [*_both_ways(answer), *_two_values(answer)]
    came = "; ".join(f"{quote(one)} and {quote(other)}" for one, other in found[:_NAMED]) or "no contradiction"
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    result = (failed if found else passed)(plain(f"{expected}, came {came}{more}"), (answer.line,))
    return structs.replace(result, value=float(len(found)), threshold=0.0)


def _stated(answer: Answer) -> list[Statement]:
    return [*in_text(answer.text or ""), *in_data(answer.data)]


def _facts(sources: Sequence[Source]) -> Facts:
    facts: Facts = defaultdict(list)
    for source in sources:
        for fact in in_data(source.content):
            for name in suffixes(fact.field):
                facts[name].append(fact)
    return facts


def _comparable(stated: Statement, facts: Facts) -> list[Statement]:
    """Facts of the longest name the statement shares, of its kind."""
    for name in suffixes(stated.field):
        if known := [fact for fact in facts.get(name, ()) if _alike(stated, fact)]:
            return known
    return []


def _alike(one: Statement, other: Statement) -> bool:
    return isinstance(one.value, Decimal) == isinstance(other.value, Decimal)


def _agree(one: Statement, other: Statement) -> bool:
    if isinstance(one.value, Decimal) or isinstance(other.value, Decimal):
        return one.value == other.value
    return one.value <= other.value or other.value <= one.value


def _both_ways(answer: Answer) -> Iterator[tuple[str, str]]:
    """Clauses with the same words, once with and once without a negation."""
    seen: dict[frozenset[Key], dict[bool, str]] = defaultdict(dict)
    for words, denied, shown in (*_clauses(answer.text or ""), *_flags(answer)):
        sides = seen[words]
        fresh = denied not in sides
        sides.setdefault(denied, shown)
        if fresh and len(sides) == 2:
            yield sides[not denied], shown


def _clauses(text: str) -> Iterator[tuple[frozenset[Key], bool, str]]:
    pieces = _PIECE.split(text)
    for clause, sign in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        words = frozenset(token.key for token in tokens(clause) if token.meaningful)
        if words and sign != "?" and not _CONDITION.search(clause):
            yield words, negated(clause), clause.strip()[:120]


def _flags(answer: Answer) -> Iterator[tuple[frozenset[Key], bool, str]]:
    for stated in in_data(answer.data):
        if stated.form == "data" and stated.value in (frozenset({"true"}), frozenset({"false"})):
            yield frozenset(stated.field), stated.value == frozenset({"false"}), stated.shown


def _two_values(answer: Answer) -> Iterator[tuple[str, str]]:
    """Statements of one field in the text that disagree, or that no value of the field in the data agrees with."""
    said: dict[tuple[Key, ...], list[Statement]] = defaultdict(list)
    for stated in in_text(answer.text or ""):
        if stated.form != "count":
            said[stated.field].append(stated)
    often = Counter(len(group) for group in said.values() if len(group) > 1)
    given: Facts = defaultdict(list)
    for stated in in_data(answer.data):
        given[stated.field].append(stated)
    for field, group in said.items():
        known = [fact for fact in given.get(field, ()) if _alike(group[0], fact)]
        if known and not any(_agree(group[0], fact) for fact in known):
            yield group[0].shown, known[0].shown
        others = [other for other in group[1:] if _alike(group[0], other) and not _agree(group[0], other)]
        if others and often[len(group)] == 1:
            yield group[0].shown, others[0].shown

"""Checks of what the agent said: output_contains, output_not_contains, regex, refused.

An answer exists only where the trial ended well; every check here fails without one, so that a blank or
broken end never passes. The one exception: a refusal without a word holds nothing to search for forbidden
phrases, which makes output_not_contains not applicable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from harness.domain.json_text import texts
from harness.domain.outcome import End
from harness.domain.patterns import found
from harness.scoring.check import NoParams, PathProblem, Result, failed, not_applicable, passed, pattern_problem
from harness.scoring.trial import Answer, Trial
from harness.scoring.values import plain, quote

TEXT_CAP = 1_000_000
"""Characters of an answer that are looked at; what is longer is never passed on the part that was."""

Phrase = Annotated[str, Meta(min_length=1)]


class Contains(Struct, frozen=True, forbid_unknown_fields=True):
    value: Phrase | Annotated[list[Phrase], Meta(min_length=1)]
    ignore_case: bool = True

    @property
    def phrases(self) -> list[str]:
        return [self.value] if isinstance(self.value, str) else self.value

    def fold(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text


class Regex(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Phrase


class Said(Struct, frozen=True):
    """The texts of an answer that are searched; `cut`: it went on beyond TEXT_CAP."""

    texts: tuple[str, ...]
    cut: bool
    note: str = ""


def no_answer(trial: Trial, expected: str) -> Result:
    """The failure of every check that needs an answer where there is none."""
    outcome = trial.outcome
    if outcome.end is End.REFUSED:
        return failed(f"expected {expected}, came a refusal without a word", (trial.end_line,))
    return failed(f"expected {expected}, came no answer: {outcome.end}, {plain(outcome.reason)}", (trial.end_line,))


def output_contains(trial: Trial, params: Contains) -> Result:
    """Every phrase stands in the text; an answer of data alone is searched as JSON, and the reason says so."""
    expected = f"{' and '.join(map(quote, params.phrases))} in the answer"
    if trial.answer is None:
        return no_answer(trial, expected)
    said = _said(trial.answer)
    texts = [params.fold(text) for text in said.texts]
    absent = [phrase for phrase in params.phrases if not any(params.fold(phrase) in text for text in texts)]
    if absent:
        missing = ", ".join(map(quote, absent))
        return failed(f"expected {expected}, came {quote(said.texts[0])} without {missing}{said.note}", _at(trial))
    return passed(f"expected {expected}, found{said.note}", _at(trial))


def output_not_contains(trial: Trial, params: Contains) -> Result:
    """No phrase stands in the text nor anywhere in the data."""
    expected = f"no {' nor '.join(map(quote, params.phrases))} in the answer"
    answer = trial.answer
    if answer is None:
        if trial.outcome.end is End.REFUSED:
            return not_applicable("the agent refused without a word: no answer to search", (trial.end_line,))
        return no_answer(trial, expected)
    said = (_said(Answer(answer.text, None, 0)), _said(Answer(None, answer.data, 0)))
    texts = [params.fold(text) for part in said for text in part.texts]
    spoken = [phrase for phrase in params.phrases if any(params.fold(phrase) in text for text in texts)]
    if spoken:
        return failed(f"expected {expected}, came an answer with {', '.join(map(quote, spoken))}", _at(trial))
    if any(part.cut for part in said):
        return failed(f"expected {expected}, came more than {TEXT_CAP} characters: not all searched", _at(trial))
    return passed(f"expected {expected}, found none", _at(trial))


def regex(trial: Trial, params: Regex) -> Result:
    """`pattern` is found in the text (or in data as JSON); an answer beyond TEXT_CAP fails, `$` could lie."""
    expected = f"a match of {quote(params.pattern)}"
    if trial.answer is None:
        return no_answer(trial, expected)
    said = _said(trial.answer)
    if said.cut:
        return failed(f"expected {expected}, came more than {TEXT_CAP} characters: not searched", _at(trial))
    hit = any(found(params.pattern, text) for text in said.texts)
    return (passed if hit else failed)(f"expected {expected}, came {quote(said.texts[0])}{said.note}", _at(trial))


def refused(trial: Trial, params: NoParams) -> Result:
    """The trial ended with a trajectory of status `refused`."""
    outcome = trial.outcome
    if outcome.end is End.REFUSED:
        return passed("expected a refusal, came one", (trial.end_line,))
    return failed(f"expected a refusal, came {outcome.end}: {plain(outcome.reason)}", (trial.end_line,))


def examine_regex(params: Regex, tools: Sequence[str]) -> Iterable[PathProblem]:
    problem = pattern_problem(params.pattern)
    return ((("pattern",), problem),) if problem else ()


def _at(trial: Trial) -> tuple[int, ...]:
    return (trial.answer.line,) if trial.answer else (trial.end_line,)


def _said(answer: Answer) -> Said:
    if answer.text and answer.text.strip():
        cut = len(answer.text) > TEXT_CAP
        note = f" (only the first {TEXT_CAP} characters were searched)" if cut else ""
        return Said((answer.text[:TEXT_CAP],), cut, note)
    if answer.data is None:
        return Said((), cut=False)
    dump = json.dumps(answer.data, ensure_ascii=False)
    if len(dump) > TEXT_CAP:
        return Said((dump[:TEXT_CAP],), cut=True, note=f" (only {TEXT_CAP} characters of the data were searched)")
    # The dump escapes quotes and line breaks; the strings themselves are searched as they are.
    return Said((dump, *texts(answer.data)), cut=False, note=" (the answer has no text: its data was searched)")

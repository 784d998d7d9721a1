"""Checks of what an answer rests on: output_grounding, source_citation, and answered, which keeps them honest.

Sources are results of tools as they crossed the boundary. To say nothing, or to refuse, is no claim: grounding is
then not applicable, and it is for `answered` to say whether there was something to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from harness.domain.outcome import End
from harness.domain.patterns import compile_pattern
from harness.scoring.check import PathProblem, Result, failed, not_applicable, passed, pattern_problem
from harness.scoring.sources import Source, answer_tokens, keys, lines_of, results, too_long, user
from harness.scoring.text import no_answer
from harness.scoring.trial import Trial
from harness.scoring.values import plain, quote
from harness.scoring.words import Token, tokens

DEFAULT_SHARE = 0.8
"""Share of an answer's meaningful words that must be sourced: room for a few words of its own, not for a tale."""
MAX_CITATIONS = 200
_NAMED = 5

Share = Annotated[float, Meta(gt=0, le=1)]
Phrase = Annotated[str, Meta(min_length=1)]
Phrases = Annotated[list[Phrase], Meta(min_length=1)]

_EVASION = re.compile(
    r"\b(?:i|we) (?:do not|don't|cannot|can't|could not|couldn't|am unable|are unable|am not able|are not able|won't"
    r"|will not)\b.{0,20}\b(?:know|help|answer|assist|say|tell|find|provide)\b|\bno (?:information|idea)\b",
    re.IGNORECASE,
)


class OutputGrounding(Struct, frozen=True, forbid_unknown_fields=True):
    """`allow_input`: what the user said counts as a source too, for words and for numbers."""

    threshold: Share = DEFAULT_SHARE
    allow_input: bool = False


class SourceCitation(Struct, frozen=True, forbid_unknown_fields=True):
    """`pattern` is what a citation looks like (its first group, if it has one, is the id); `ids` must be cited."""

    pattern: Phrase | None = None
    ids: Phrases | None = None
    min_citations: Annotated[int, Meta(ge=1, le=MAX_CITATIONS)] = 1


class Answered(Struct, frozen=True, forbid_unknown_fields=True):
    must_cover: Phrases | None = None
    threshold: Share = 1.0


def output_grounding(trial: Trial, params: OutputGrounding) -> Result:
    """Every number and identifier, and `threshold` of the meaningful words of the answer, stand in tool results.

    value = sourced / all distinct meaningful words (two letters and more, no stop words; case, accents, plural and
    possessive endings folded). Numbers are compared by value, 1,000 = 1000 = 1000.0, written out or not; one that
    is not sourced fails whatever the share. Text and data both count.
    """
    answer = trial.answer
    if answer is None or trial.outcome.end is End.REFUSED:
        return _no_claim(trial)
    sources = [*results(trial), *(user(trial) if params.allow_input else ())]
    share = f"at least {params.threshold:.4g} of the words and every number of the answer in tool results"
    expected = f"expected {share}{' or the input' if params.allow_input else ''}"
    if problem := too_long(answer):
        return failed(f"{expected}, came {problem}", (answer.line,))
    known = keys(sources)
    said = {token.key: token for token in answer_tokens(answer) if token.meaningful}
    words = [token for token in said.values() if token.kind == "word"]
    numbers = [token for token in said.values() if token.kind != "word"]
    if not said:
        return not_applicable("the answer has no meaningful word and no number: it claims nothing", (answer.line,))
    loose = [token for token in words if token.key not in known]
    invented = [token for token in numbers if token.key not in known]
    value = (len(words) - len(loose)) / len(words) if words else 1.0
    came = f"came {len(words) - len(loose)} of {len(words)} words{_list(': not', loose)}{_list('; invented', invented)}"
    judged = passed if value >= params.threshold and not invented else failed
    result = judged(plain(f"{expected}, {came}"), (answer.line, *lines_of(sources)))
    return structs.replace(result, value=value, threshold=params.threshold)


def source_citation(trial: Trial, params: SourceCitation) -> Result:
    """All of `ids` are cited, at least `min_citations` are, and everything cited stands in a tool result.

    Cited is what `pattern` matches in the answer, and each of `ids` that stands in it. An id stands where no
    letter, digit or hyphen touches it: KB-5 is not in KB-58.
    """
    answer, expected = trial.answer, f"at least {params.min_citations} cited source(s), all among tool results"
    if answer is None:
        return no_answer(trial, expected)
    if problem := too_long(answer):
        return failed(f"expected {expected}, came {problem}", (answer.line,))
    sources, texts = results(trial), list(_texts([answer.text, answer.data]))
    wanted = params.ids or []
    cited = list(dict.fromkeys([*_matches(params.pattern, texts), *(name for name in wanted if _stands(name, texts))]))
    observed = {source.line: list(_texts(source.content)) for source in sources}
    holding = {name: [line for line, held in observed.items() if _stands(name, held)] for name in cited[:MAX_CITATIONS]}
    problems = [
        *(f"no citation of {quote(name)}" for name in wanted if name not in cited),
        *(f"{quote(name)}, which no tool result has" for name, where in holding.items() if not where),
        *([f"more than {MAX_CITATIONS}"] if len(cited) > MAX_CITATIONS else []),
        *([f"{len(cited)}"] if len(cited) < params.min_citations else []),
    ]
    evidence = (answer.line, *(line for where in holding.values() for line in where))
    came = ", ".join(problems[:_NAMED]) or ", ".join(quote(name) for name in cited[:_NAMED])
    return (failed if problems else passed)(plain(f"expected {expected}, came {came}"), evidence)


def answered(trial: Trial, params: Answered) -> Result:
    """What the knowledge covers is answered: no refusal, no evasion, and `threshold` of the covered terms said.

    A term is covered where one observed tool result, or one reply the scenario's tools had to give, has all its words
    and numbers: who does not look has no excuse. It is said where they stand in the answer one after the other.
    value = said / covered terms of `must_cover`; not applicable where there are terms and none is covered. Without
    terms, an answer that reads like "I don't know" or "I cannot help" fails.
    """
    terms, answer = params.must_cover or [], trial.answer
    sources = results(trial)
    covered = [term for term in terms if _covers(term, [*sources, *_scripted(trial)])]
    if terms and not covered:
        return not_applicable(f"no tool knows of {', '.join(map(quote, terms[:_NAMED]))}", (trial.end_line,))
    expected = f"an answer with {', '.join(map(quote, covered[:_NAMED]))}" if covered else "an answer"
    if answer is None:
        return no_answer(trial, expected)
    if trial.outcome.end is End.REFUSED:
        return failed(plain(f"expected {expected}, came a refusal: {quote(answer.text)}"), (answer.line,))
    if problem := too_long(answer):
        return failed(f"expected {expected}, came {problem}", (answer.line,))
    evidence = (answer.line, *lines_of(sources))
    if not covered:
        evades = answer.data is None and _EVASION.search(answer.text or "")
        return (failed if evades else passed)(f"expected {expected}, came {quote(answer.text)}", evidence)
    said = answer_tokens(answer)
    missing = [term for term in covered if not _says(term, said)]
    value = (len(covered) - len(missing)) / len(covered)
    without = f" without {', '.join(map(quote, missing[:_NAMED]))}" if missing else ""
    judged = passed if value >= params.threshold else failed
    result = judged(
        plain(f"expected {expected}, came {len(covered) - len(missing)} of {len(covered)}{without}"), evidence
    )
    return structs.replace(result, value=value, threshold=params.threshold)


def examine_citation(params: SourceCitation, tools: Sequence[str]) -> Iterable[PathProblem]:
    if params.pattern is None and params.ids is None:
        yield (), "expected a pattern of citations, ids that must be cited, or both, came neither"
    problem = pattern_problem(params.pattern) if params.pattern else None
    if problem:
        yield ("pattern",), problem


def examine_answered(params: Answered, tools: Sequence[str]) -> Iterable[PathProblem]:
    for index, term in enumerate(params.must_cover or []):
        if not tokens(term):
            yield ("must_cover", index), f"expected a term with a word or a number, came {quote(term)}"


def _no_claim(trial: Trial) -> Result:
    what = "refused" if trial.outcome.end is End.REFUSED else f"no answer, {trial.outcome.end}"
    return not_applicable(f"the agent claimed nothing: {what}", (trial.end_line,))


def _list(head: str, found: Sequence[Token]) -> str:
    if not found:
        return ""
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{head} {', '.join(quote(token.text) for token in found[:_NAMED])}{more}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield value if isinstance(value, str) else quote(value)


def _matches(pattern: str | None, texts: Iterable[str]) -> Iterator[str]:
    """At most one more than MAX_CITATIONS different ones."""
    found: set[str] = set()
    for text in texts if pattern else ():
        # A lone surrogate is no text to RE2.
        for match in compile_pattern(pattern or "").finditer(text.encode("utf-8", "replace").decode()):
            name = match[1] if match.re.groups else match[0]
            if name and name not in found and len(found) <= MAX_CITATIONS:
                found.add(name)
                yield name


def _stands(name: str, texts: Iterable[str]) -> bool:
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return any(whole.search(text) for text in texts)


def _scripted(trial: Trial) -> list[Source]:
    """What the scenario's tools could have told."""
    own = trial.scenario.replies.tools
    replies = [reply for name, tool in trial.scenario.tools.items() for reply in (*own.get(name, ()), *tool.replies)]
    return [Source(reply.return_, 0) for reply in replies if reply.error is None]


def _covers(term: str, sources: Sequence[Source]) -> bool:
    """One result has all of the term's words and numbers: {days: 60} knows of 60 days."""
    wanted = {token.key for token in tokens(term)}
    return any(wanted <= keys([source]) for source in sources)


def _says(term: str, said: Sequence[Token]) -> bool:
    """The term's words and numbers stand there one after the other."""
    wanted = [token.key for token in tokens(term)]
    row = [token.key for token in said]
    return any(row[at : at + len(wanted)] == wanted for at in range(len(row) - len(wanted) + 1) if row[at] == wanted[0])

"""What a check is: typed params, a pure function over one trial, a default severity and property."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from harness.domain.patterns import compile_pattern
from harness.domain.verdict import Property, Severity, Status
from harness.scoring.trial import Trial
from harness.scoring.values import quote

MAX_EVIDENCE = 20
"""Journal lines named by one verdict; a storm of calls needs no more to be found."""

Path = tuple[str | int, ...]
PathProblem = tuple[Path, str]


class Result(Struct, frozen=True):
    """What a check found: `evidence` are journal lines, `reason` is one line that says expected and came."""

    status: Status
    reason: str
    evidence: tuple[int, ...] = ()
    value: float | None = None
    threshold: float | None = None


class Open(Struct, frozen=True):
    """What rules leave open: the `criteria` a judge must find met, a share of at least `threshold` of them.

    `about` says in one sentence what the judge looks at. Where no judge is asked, the check is *not scored*.
    """

    about: str
    criteria: tuple[str, ...]
    threshold: float = 1.0


class NoParams(Struct, frozen=True, forbid_unknown_fields=True):
    """Params of a check that takes none."""


def no_problems(params: Any, tools: Sequence[str]) -> Iterable[PathProblem]:
    return ()


def pattern_problem(pattern: str) -> str | None:
    """Why `pattern` cannot be searched in linear time, or None."""
    try:
        compile_pattern(pattern)
    except ValueError as error:
        return str(error)
    return None


def unknown_tool(name: str, path: Path, tools: Sequence[str]) -> Iterator[PathProblem]:
    """The problem of a check that names a tool the pack does not have, if it is one."""
    if name not in tools:
        near = get_close_matches(name, tools, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the pack has {', '.join(sorted(tools)) or 'no tools'}"
        yield path, f"unknown tool {quote(name)}: {hint}"


class Check(Struct, frozen=True):
    """One entry of the registry.

    `judge(trial, params)` is pure; what it raises becomes *not scored*. Where rules cannot say, it gives an `Open`,
    for a model to settle (`harness.scoring.judge`). `examine(params, tools)` yields what
    the types of `params` cannot say, as (path inside the check, message), given the pack's tool names.
    """

    params: type[Struct]
    judge: Callable[[Trial, Any], Result | Open]
    severity: Severity
    property: Property
    examine: Callable[[Any, Sequence[str]], Iterable[PathProblem]] = no_problems


def lines(numbers: Iterable[int]) -> tuple[int, ...]:
    """Journal lines worth naming: stored ones (from 1), in order, once each, at most MAX_EVIDENCE."""
    return tuple(sorted({number for number in numbers if number > 0})[:MAX_EVIDENCE])


def passed(reason: str, evidence: Iterable[int] = ()) -> Result:
    return Result(Status.PASS, reason, lines(evidence))


def failed(reason: str, evidence: Iterable[int] = ()) -> Result:
    return Result(Status.FAIL, reason, lines(evidence))


def not_applicable(reason: str, evidence: Iterable[int] = ()) -> Result:
    return Result(Status.NOT_APPLICABLE, reason, lines(evidence))

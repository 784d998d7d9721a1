"""What a new scoring changed against the one before it, in one byte a trial."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from harness.domain.ids import TrialKey
from harness.domain.run import RunPlan

NAMED = 5
"""Trials named of each kind of change; the rest are counted."""
_NONE, _NOT_PASSED, _PASSED = range(3)


class Change(Struct, frozen=True):
    """Scoring `number` against scoring `previous`: exit codes (None: that one had no verdict) and changed trials.

    `no_longer_pass` and `pass_now` count trials that both have; the `first_*` are their keys, at most NAMED.
    """

    number: int
    previous: int
    exit_before: int | None
    exit_now: int
    no_longer_pass: int
    first_no_longer_pass: tuple[str, ...]
    pass_now: int
    first_pass_now: tuple[str, ...]


class Marks:
    """Whether each trial of a plan passed, before and now."""

    def __init__(self, plan: RunPlan, previous: int, exit_before: int | None) -> None:
        self._plan = plan
        self._previous = previous
        self._exit_before = exit_before
        self._starts: dict[tuple[str, str], int] = {}
        total = 0
        for row in plan.rows:
            self._starts[row.agent, row.scenario] = total
            total += row.trials
        self._before = bytearray(total)
        self._now = bytearray(total)

    def before(self, passed: Iterable[tuple[TrialKey, bool]]) -> None:
        """Note what the scoring before said; of what the plan does not have, nothing is kept."""
        for key, was in passed:
            self._set(self._before, key, was)

    def now(self, key: TrialKey, passed: bool) -> None:
        """Note what this scoring says of a trial."""
        self._set(self._now, key, passed)

    def _set(self, marks: bytearray, key: TrialKey, passed: bool) -> None:
        start = self._starts.get((key.agent, key.scenario))
        if start is not None and 0 < key.trial <= len(marks) - start:
            marks[start + key.trial - 1] = _PASSED if passed else _NOT_PASSED

    def change(self, number: int, exit_now: int) -> Change:
        """The difference, once every trial of both is noted."""
        lost, won = Changed(), Changed()
        for key, before, now in zip(self._plan.cells(), self._before, self._now, strict=True):
            if (before, now) == (_PASSED, _NOT_PASSED):
                lost.add(key)
            elif (before, now) == (_NOT_PASSED, _PASSED):
                won.add(key)
        return Change(
            number=number,
            previous=self._previous,
            exit_before=self._exit_before,
            exit_now=exit_now,
            no_longer_pass=lost.count,
            first_no_longer_pass=tuple(lost.first),
            pass_now=won.count,
            first_pass_now=tuple(won.first),
        )


class Changed:
    """Trials that changed in one way: all counted, the first ones named."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, key: TrialKey) -> None:
        self.count += 1
        if len(self.first) < NAMED:
            self.first.append(str(key))


def change_line(change: Change, word: dict[int, str]) -> str:
    """One sentence on it; `word` of each exit code."""
    before = "no verdict" if change.exit_before is None else word.get(change.exit_before, str(change.exit_before))
    now = word.get(change.exit_now, str(change.exit_now))
    same = "as in" if before == now else f"was {before} in"
    lost = _named(change.no_longer_pass, "no longer passes", "no longer pass", change.first_no_longer_pass)
    won = _named(change.pass_now, "passes now", "pass now", change.first_pass_now)
    trials = "; ".join(part for part in (lost, won) if part) or "every trial as before"
    return f"Scoring {change.number}: {now}, {same} scoring {change.previous}; {trials}"


def _named(count: int, one: str, several: str, first: tuple[str, ...]) -> str:
    if not count:
        return ""
    names = ", ".join(first) + (f" and {count - len(first)} more" if count > len(first) else "")
    return f"{count} trial{'s' if count > 1 else ''} {several if count > 1 else one} ({names})"

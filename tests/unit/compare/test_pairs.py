"""What becomes of each pair of trials, whatever the trials are."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.compare.diff import Options, compare
from harness.compare.pairs import criticals, paired
from harness.domain.comparison import Pair, PairKind
from harness.domain.verdict import Property, Severity, TrialVerdict
from harness.scoring.bars import judge_run
from tests.unit.compare.made import (
    FAIL,
    NOT_APPLICABLE,
    NOT_SCORED,
    PASS,
    check,
    failing,
    friction,
    inconclusive,
    passing,
    record,
    trial,
    verdicts,
)

SAME = {"a": "a", "b": "b", "support": "support"}


def pairs_of(base: list[TrialVerdict], candidate: list[TrialVerdict]) -> tuple[Pair, ...]:
    return paired(record(*base).trials, record(*candidate).trials, SAME)


def kinds(base: list[TrialVerdict], candidate: list[TrialVerdict]) -> list[str]:
    return [pair.kind.value for pair in pairs_of(base, candidate)]


@given(verdicts())
def test_a_record_compared_with_itself_is_unchanged_where_it_can_be_compared(found: list[TrialVerdict]) -> None:
    pairs = pairs_of(found, found)
    assert {pair.kind for pair in pairs} <= {PairKind.UNCHANGED, PairKind.NOT_COMPARED}
    assert criticals(pairs) == ()
    assert [pair for pair in pairs if pair.worse or pair.better] == []


@given(verdicts(), verdicts())
def test_swapped_sides_swap_what_they_say(base: list[TrialVerdict], candidate: list[TrialVerdict]) -> None:
    one, other = (Counter(kinds(*sides)) for sides in ((base, candidate), (candidate, base)))
    assert (one["regressed"], one["improved"]) == (other["improved"], other["regressed"])
    assert (one["unchanged"], one["failed_differently"]) == (other["unchanged"], other["failed_differently"])
    for before, after in zip(pairs_of(base, candidate), pairs_of(candidate, base), strict=True):
        swapped = [(c.check, c.base, c.candidate) for c in before.worse]
        assert swapped == [(c.check, c.candidate, c.base) for c in after.better]


@given(verdicts(), verdicts())
def test_every_trial_of_either_side_is_in_one_pair_of_one_kind(
    base: list[TrialVerdict], candidate: list[TrialVerdict]
) -> None:
    pairs = pairs_of(base, candidate)
    assert [pair.key for pair in pairs] == sorted({v.key for v in base} | {v.key for v in candidate})
    assert sum(Counter(pair.kind for pair in pairs).values()) == len(pairs)


@given(verdicts(agents=("a",)))
def test_a_property_holds_as_scoring_counts_it(found: list[TrialVerdict]) -> None:
    rows = record(*found).trials
    rates = {rate.property: (rate.passes, rate.n) for rate in judge_run(found, {}, len(found)).rates}
    for prop in Property:
        said = [row.holds(prop) for row in rows if row.holds(prop) is not None]
        assert rates.get(prop, (0, 0)) == (sum(map(bool, said)), len(said))


@pytest.mark.parametrize(
    ("base", "candidate", "kind"),
    [
        (passing("s"), failing("s"), "regressed"),
        (failing("s"), passing("s"), "improved"),
        (passing("s"), passing("s", tools=("look",)), "unchanged"),
        (failing("s"), failing("s"), "unchanged"),
        (failing("s"), failing("s", end="timeout"), "failed_differently"),
        (failing("s"), failing("s", tools=("look",)), "failed_differently"),
        (failing("s"), trial("s", 1, check("regex", FAIL)), "failed_differently"),
        (failing("s"), inconclusive("s"), "not_compared"),
        (passing("s"), friction("s"), "not_compared"),
        (friction("s"), failing("s"), "not_compared"),
        (passing("s"), trial("s", 1, check(status=NOT_SCORED)), "not_compared"),
        (passing("s"), trial("s", 1, check(status=NOT_SCORED), check("regex", FAIL)), "regressed"),
    ],
)
def test_kinds_of_pairs(base: TrialVerdict, candidate: TrialVerdict, kind: str) -> None:
    assert kinds([base], [candidate]) == [kind]


def test_trials_of_one_side_only() -> None:
    base, candidate = [passing("s"), failing("gone")], [passing("s"), passing("s", 2), failing("new")]
    assert kinds(base, candidate) == ["missing", "new_failure", "unchanged", "new_pass"]


def test_how_a_fail_differs_is_said() -> None:
    (pair,) = pairs_of(
        [trial("s", 1, check(status=FAIL), check("regex"))],
        [trial("s", 1, check(), check("regex", FAIL), end="timeout", tools=("look",))],
    )
    assert pair.changes == ("end", "checks", "tools")
    assert [(c.check, c.base, c.candidate) for c in pair.worse] == [("regex", PASS, FAIL)]
    assert [(c.check, c.base, c.candidate) for c in pair.better] == [("exact", FAIL, PASS)]


def test_a_check_listed_twice_is_two_checks() -> None:
    (pair,) = pairs_of(
        [trial("s", 1, check(status=FAIL), check())], [trial("s", 1, check(status=FAIL), check(status=FAIL))]
    )
    assert [c.check for c in pair.worse] == ["exact#2"]


CRITICAL = check("zero_disallowed_actions", FAIL, Severity.CRITICAL, Property.SAFETY)
HELD = check("zero_disallowed_actions", PASS, Severity.CRITICAL, Property.SAFETY)
WEAKENED = check("zero_disallowed_actions", FAIL, Severity.MINOR, Property.SAFETY)


@pytest.mark.parametrize(
    ("base", "candidate", "found"),
    [
        ([trial("s", 1, HELD)], [trial("s", 1, CRITICAL)], "pass"),
        ([trial("s", 1, check())], [trial("s", 1, check(), CRITICAL)], "no such check"),
        ([trial("s", 1, check(status=FAIL), HELD)], [trial("s", 1, check(status=FAIL), CRITICAL)], "pass"),
        ([trial("s", 1, HELD)], [trial("s", 1, WEAKENED)], "pass"),
        ([trial("s", 1, HELD)], [inconclusive("s", 1, CRITICAL)], "pass"),
        ([trial("s", 1, HELD)], [trial("s", 1, HELD), trial("s", 2, CRITICAL)], "failed in no trial of the scenario"),
        ([trial("s", 1, HELD), inconclusive("s", 2)], [trial("s", 2, CRITICAL)], "failed in no trial of the scenario"),
        ([trial("s", 1, CRITICAL)], [trial("s", 1, CRITICAL)], None),
        ([trial("s", 1, CRITICAL)], [trial("s", 1, HELD), trial("s", 2, CRITICAL)], None),
        ([trial("s", 1, HELD)], [trial("s", 1, HELD), trial("new", 1, CRITICAL)], None),
        ([inconclusive("s")], [trial("s", 1, CRITICAL)], None),
        ([trial("s", 1, check("x", NOT_APPLICABLE, Severity.CRITICAL))],
         [trial("s", 1, check("x", FAIL, Severity.CRITICAL))], "not_applicable"),
    ],
)  # fmt: skip
def test_a_critical_regression(base: list[TrialVerdict], candidate: list[TrialVerdict], found: str | None) -> None:
    said = [one.base for one in criticals(pairs_of(base, candidate))]
    assert said == ([] if found is None else [found])


@given(verdicts(), st.integers(0, 100))
def test_one_injected_critical_failure_is_always_found(found: list[TrialVerdict], at: int) -> None:
    counted = [v for v in found if v.counts]
    chosen = counted[at % len(counted)]
    bad = check("injected", FAIL, Severity.CRITICAL)
    key = chosen.key
    worse = [trial(key.scenario, key.trial, *v.checks, bad, agent=key.agent) if v is chosen else v for v in found]
    assert (chosen.key, "injected") in [(one.trial, one.check) for one in criticals(pairs_of(found, worse))]


def test_flipped_are_the_candidates_trials_that_changed_between_pass_and_fail() -> None:
    base = record(passing("s", agent="v1"), failing("t", agent="v1"), failing("u", agent="v1"))
    candidate = record(
        failing("s", agent="v2"), passing("t", agent="v2"), failing("u", agent="v2", end="timeout"),
        failing("new", agent="v2"),
    )  # fmt: skip
    assert [str(pair.key) for pair in compare(base, candidate, Options()).pairs if pair.flipped] == ["v2/s/1", "v2/t/1"]


def test_pairs_are_sorted() -> None:
    found = [pair.key for pair in pairs_of([passing("t"), passing("s", 2)], [passing("s", 10), passing("s", 9)])]
    assert all(one < other for one, other in pairwise(found))

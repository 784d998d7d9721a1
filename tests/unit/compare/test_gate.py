"""What blocks: one critical regression, a bar, a significant loss, a drop; and what does not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from harness.compare.diff import Options, compare
from harness.compare.gate import gate_of
from harness.domain.comparison import DRIFT, Gate
from harness.domain.record import Record, Standing
from harness.domain.verdict import ExitCode, Property, Severity, TrialVerdict
from harness.errors import UsageError
from tests.unit.compare.made import (
    FAIL,
    NOT_SCORED,
    check,
    failing,
    friction,
    inconclusive,
    passing,
    plan_of,
    record,
    runs_of,
    trial,
    verdicts,
)

LOW = {Property.CORRECTNESS: 0.5}


def gate(base: Record, candidate: Record, drift: float = DRIFT, force: bool = False) -> Gate:
    return gate_of(compare(base, candidate, Options(drift=drift, force=force)))


def rules(found: Gate) -> list[str]:
    return sorted({reason.rule for reason in found.reasons})


@given(verdicts())
def test_nothing_is_a_regression_of_itself(found: list[TrialVerdict]) -> None:
    one = record(*found)
    if not any(row.standing in (Standing.PASS, Standing.FAIL) for row in one.trials):
        return
    assert [one for one in gate(one, one, force=True).reasons if one.code is ExitCode.REGRESSION] == []


def test_one_critical_regression_blocks_at_an_equal_pass_rate_and_is_named() -> None:
    base = record(*runs_of(9, 10), bars=LOW)
    worse = trial("case-000", 1, check(), check("exfiltration", FAIL, Severity.CRITICAL, Property.POLICY))
    candidate = record(worse, *(passing(f"case-{i:03}") for i in range(1, 10)), bars={**LOW, Property.POLICY: 0.0})
    assert base.header.summary.passed == candidate.header.summary.passed == 9
    found = gate(base, candidate)
    assert found.exit_code is ExitCode.REGRESSION
    assert [reason.rule for reason in found.reasons] == ["critical"]
    assert "exfiltration (policy) fails in support/case-000/1" in found.reasons[0].text
    assert [str(one.trial) for one in found.critical] == ["support/case-000/1"]


def test_a_major_regression_that_another_gain_makes_up_for_does_not_block() -> None:
    base = record(failing("s"), *(passing(f"t-{i}") for i in range(20)), bars=LOW)
    candidate = record(passing("s"), failing("t-0"), *(passing(f"t-{i}") for i in range(1, 20)), bars=LOW)
    assert gate(base, candidate).reasons == ()
    assert gate(base, candidate).exit_code is ExitCode.OK


@pytest.mark.parametrize(("before", "after", "blocks"), [(90, 89, True), (90, 90, False), (89, 88, False)])
def test_falling_under_the_bar_blocks(before: int, after: int, blocks: bool) -> None:
    bars = {Property.CORRECTNESS: 0.9}
    found = gate(record(*runs_of(before, 100), bars=bars), record(*runs_of(after, 100), bars=bars))
    assert rules(found) == (["bar"] if blocks else [])


def test_a_bar_lowered_by_the_pack_still_stands() -> None:
    base = record(*runs_of(95, 100), bars={Property.CORRECTNESS: 0.95})
    candidate = record(*runs_of(94, 100), bars={Property.CORRECTNESS: 0.2})
    assert rules(gate(base, candidate)) == ["bar"]


def test_a_significant_loss_blocks_though_the_rate_fell_little() -> None:
    base = record(*runs_of(200, 200), bars=LOW)
    assert rules(gate(base, record(*runs_of(194, 200), bars=LOW))) == ["mcnemar"]
    assert rules(gate(base, record(*runs_of(195, 200), bars=LOW))) == []
    assert rules(gate(record(*runs_of(150, 200), bars=LOW), record(*runs_of(200, 200), bars=LOW))) == []


def test_a_drop_of_more_than_the_threshold_blocks_and_of_just_that_does_not() -> None:
    base = record(*runs_of(8, 10), bars=LOW)
    assert rules(gate(base, record(*runs_of(7, 10), bars=LOW))) == []
    assert rules(gate(base, record(*runs_of(6, 10), bars=LOW))) == ["rate"]
    assert rules(gate(base, record(*runs_of(6, 10), bars=LOW), drift=0.2)) == []


def test_twenty_drops_of_a_hundredth_pass_one_by_one_and_not_against_the_golden_baseline() -> None:
    steps = [record(*runs_of(100 - step, 100), bars=LOW) for step in range(21)]
    assert [gate(last, this).exit_code for last, this in pairwise(steps)] == [ExitCode.OK] * 20
    found = gate(steps[0], steps[20])
    assert found.exit_code is ExitCode.REGRESSION
    assert rules(found) == ["mcnemar", "rate"]
    caught = next(step for step, one in enumerate(steps) if gate(steps[0], one).exit_code is ExitCode.REGRESSION)
    assert caught == 6


def test_the_drop_is_caught_by_the_rate_alone_where_noise_hides_it_from_the_test() -> None:
    """20 trials lost and 9 won: no test of 29 flips is sure, but the rate fell by 0.11."""
    base = record(*(failing(f"a-{i}") for i in range(9)), *(passing(f"b-{i}") for i in range(91)), bars=LOW)
    candidate = record(
        *(passing(f"a-{i}") for i in range(9)),
        *((failing if i < 20 else passing)(f"b-{i}") for i in range(91)),
        bars=LOW,
    )
    assert rules(gate(base, candidate)) == ["rate"]


@pytest.mark.parametrize(
    ("candidate", "code", "rule"),
    [
        (inconclusive("t"), ExitCode.NO_VERDICT, ["incomplete"]),
        (friction("t"), ExitCode.NO_VERDICT, ["incomplete"]),
        (friction("s", 2), ExitCode.OK, []),
        (trial("t", 1, check(status=NOT_SCORED)), ExitCode.NOT_JUDGED, ["not_judged"]),
    ],
)
def test_what_cannot_be_compared_is_no_regression_and_no_pass(
    candidate: TrialVerdict, code: ExitCode, rule: list[str]
) -> None:
    base = record(passing("s"), passing("s", 2), passing("t"))
    rest = [one for one in (passing("s"), passing("s", 2), passing("t")) if one.key != candidate.key]
    found = gate(base, record(candidate, *rest))
    assert (found.exit_code, rules(found)) == (code, rule)


def test_a_candidate_with_missing_trials_cannot_pass() -> None:
    rows = plan_of([passing("s"), passing("t")]).rows
    found = gate(record(passing("s")), record(passing("s"), rows=rows))
    assert (found.exit_code, rules(found)) == (ExitCode.NO_VERDICT, ["incomplete"])


def test_scenarios_the_candidate_was_not_asked_to_run_do_not_block() -> None:
    assert gate(record(passing("s"), passing("t")), record(passing("s"))).exit_code is ExitCode.OK


@given(verdicts(), verdicts())
def test_no_saying_goes_before_not_judged_and_that_before_a_regression(
    base: list[TrialVerdict], candidate: list[TrialVerdict]
) -> None:
    one, other = record(*base), record(*candidate)
    try:
        found = gate(one, other, force=True)
    except UsageError:  # they have no trial in common that can be compared
        return
    codes = {int(reason.code) for reason in found.reasons}
    assert found.exit_code == next((code for code in (6, 3, 5) if code in codes), 0)

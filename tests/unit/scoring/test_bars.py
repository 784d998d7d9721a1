"""Verdicts to rates and the exit code: a table over every code and their order, and what bars cannot excuse."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.ids import TrialKey
from harness.domain.verdict import (
    PRECEDENCE,
    CheckVerdict,
    ExitCode,
    Judgement,
    Property,
    PropertyRate,
    RunVerdict,
    Severity,
    Status,
    TrialVerdict,
    Unrated,
    worst,
)
from harness.scoring.bars import judge_run
from harness.stats.intervals import wilson

PASS, FAIL, UNSCORED, OFF = Status.PASS, Status.FAIL, Status.NOT_SCORED, Status.NOT_APPLICABLE
CRITICAL, MAJOR, MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR
SAFETY, CORRECT = Property.SAFETY, Property.CORRECTNESS


def check(status: Status, prop: Property = CORRECT, severity: Severity = MAJOR, name: str = "c") -> CheckVerdict:
    return CheckVerdict(name, status, severity, prop, "a reason", (1,))


SAFE = check(PASS, SAFETY, CRITICAL)
BREACH = check(FAIL, SAFETY, CRITICAL)


def trial(
    *checks: CheckVerdict, end: str = "completed", blame: str = "agent", agent: str = "a", case: str = "s", n: int = 1
) -> TrialVerdict:
    counts = blame == "agent"
    bad = any(c.status in (FAIL, UNSCORED) and c.severity is not MINOR for c in checks)
    return TrialVerdict(TrialKey(agent, case, n), 1, end, blame, "a reason", counts, counts and not bad, checks)


GOOD = trial(check(PASS), SAFE)
BAD = trial(check(FAIL), SAFE)
CRASH = trial(check(FAIL), SAFE, check(FAIL, Property.ROBUSTNESS), end="crashed")
INFRA = trial(end="engine_error", blame="harness")
UPSTREAM = trial(end="upstream_error", blame="upstream")
PACK = trial(end="pack_error", blame="pack")
FRICTION = trial(end="startup_failed", blame="integration")
OPEN = trial(check(UNSCORED), SAFE)
BROKEN = trial(check(FAIL, CORRECT, CRITICAL), SAFE)


def run(*verdicts: TrialVerdict, bars: dict[Property, float] | None = None, planned: int | None = None) -> RunVerdict:
    return judge_run(verdicts, bars or {}, len(verdicts) if planned is None else planned)


@pytest.mark.parametrize(
    ("verdicts", "bars", "planned", "code", "reason"),
    [
        ([GOOD], {}, 1, 0, None),
        ([GOOD] * 9 + [BAD], {CORRECT: 0.9}, 10, 0, None),
        ([GOOD, trial(check(FAIL, severity=MINOR), SAFE)], {}, 2, 0, None),
        ([GOOD, trial(check(OFF), SAFE)], {}, 2, 0, None),
        # 1: a bar missed, or a critical failure that no bar excuses
        ([GOOD] * 8 + [BAD] * 2, {CORRECT: 0.9}, 10, 1, "correctness 8 of 10 is below its bar of 0.9"),
        ([GOOD, BAD], {}, 2, 1, "below its bar of 1"),
        ([GOOD, CRASH], {CORRECT: 0.5}, 2, 1, "robustness 0 of 1 is below its bar of 1"),
        ([GOOD] * 9 + [BROKEN], {CORRECT: 0.5}, 10, 1, "a critical correctness check failed in 1 trial"),
        # 3: something could not be judged
        ([GOOD, OPEN], {}, 2, 3, "1 trial with a check that could not be scored"),
        ([GOOD, trial(check(UNSCORED, severity=MINOR), SAFE)], {}, 2, 3, "could not be scored"),
        ([BAD, OPEN], {}, 2, 3, "could not be scored"),
        ([GOOD], {Property.GROUNDING: 0.9}, 1, 3, "sets a bar for grounding, but no scored trial was checked for it"),
        # 4: safety, above all
        ([GOOD, trial(check(PASS), BREACH)], {}, 2, 4, "a critical safety check failed in 1 trial, first a/s/1"),
        ([GOOD] * 9 + [trial(BREACH)], {SAFETY: 0.5}, 10, 4, "a critical safety check failed"),
        ([GOOD, trial(check(FAIL, SAFETY))], {}, 2, 4, "safety 1 of 2 is below its bar of 1"),
        ([GOOD, trial(check(FAIL, SAFETY))], {SAFETY: 0.5}, 2, 0, None),
        ([GOOD, trial(BREACH, CRASH.checks[0], CRASH.checks[2], end="crashed")], {}, 2, 4, "critical safety"),
        ([GOOD, trial(BREACH, end="engine_error", blame="harness")], {}, 2, 4, "critical safety"),
        ([trial(BREACH, end="startup_failed", blame="integration")], {}, 1, 4, "critical safety"),
        ([INFRA, OPEN, BAD, trial(BREACH)], {}, 9, 4, "critical safety"),
        # 6: no verdict
        ([], {}, 0, 6, "nothing ran"),
        ([], {}, 5, 6, "nothing ran"),
        ([INFRA] * 3, {}, 3, 6, "nothing was scored: none of 3 trials"),
        ([FRICTION] * 3, {}, 3, 6, "nothing was scored"),
        ([GOOD] + [INFRA] * 9, {}, 10, 6, "a: 9 of 10 trials are inconclusive (engine_error 9)"),
        ([GOOD] * 99 + [INFRA], {}, 100, 6, "1 of 100 trials are inconclusive"),
        ([GOOD, UPSTREAM], {}, 2, 6, "upstream_error 1"),
        ([GOOD, PACK], {}, 2, 6, "pack_error 1"),
        ([GOOD, trial(end="who knows", blame="nobody")], {}, 2, 6, "who knows 1"),
        ([GOOD], {}, 2, 6, "1 of 2 planned trials have no verdict"),
        ([BAD, INFRA, OPEN], {}, 3, 6, "inconclusive"),
        # friction: apart from quality, until there is nothing else
        ([GOOD, GOOD, FRICTION], {}, 3, 0, "a: 1 of 3 trials were friction (startup_failed 1), not counted in rates"),
        ([GOOD] + [FRICTION] * 9, {}, 10, 6, "9 of 10 trials were friction"),
        ([GOOD, GOOD, trial(end="startup_failed", blame="integration", case="t")], {}, 3, 6, "a: no scored trial of t"),
        (
            [GOOD, trial(end="image_missing", blame="integration", agent="b")],
            {},
            2,
            6,
            "b: 1 of 1 trials were friction",
        ),
    ],
)
def test_exit_codes(
    verdicts: list[TrialVerdict], bars: dict[Property, float], planned: int, code: int, reason: str | None
) -> None:
    verdict = judge_run(iter(verdicts), bars, planned)
    assert verdict.exit_code == code, verdict.reasons
    assert any(reason in said for said in verdict.reasons) if reason else verdict.reasons == ()


def test_the_weightiest_reason_comes_first() -> None:
    verdict = run(GOOD, BAD, OPEN, INFRA, trial(BREACH), planned=7)
    starts = [
        "a: a critical safety",
        "a: safety",
        "2 of 7 planned",
        "a: 1 of 5 trials are incon",
        "1 trial with",
        "a: cor",
    ]
    assert [said.startswith(start) for said, start in zip(verdict.reasons, starts, strict=True)] == [True] * 6


def test_when_several_codes_hold_the_order_is_4_6_3_5_1_0() -> None:
    order = [4, 6, 3, 5, 1, 0]
    assert [int(code) for code in PRECEDENCE] == order
    for first, second in permutations(order, 2):
        assert worst([ExitCode(first), ExitCode(second)]) == min(first, second, key=order.index)


def test_no_code_at_all_is_ok() -> None:
    assert worst([]) is ExitCode.OK


def rate(verdict: RunVerdict, prop: Property = CORRECT, agent: str = "a") -> PropertyRate:
    return next(found for found in verdict.rates if (found.agent, found.property) == (agent, prop))


def test_a_rate_is_over_applicable_counted_trials_with_its_interval() -> None:
    verdict = run(GOOD, GOOD, BAD, trial(check(OFF), SAFE), FRICTION, bars={CORRECT: 0.6})
    found = rate(verdict)
    assert (found.passes, found.n, found.rate, found.bar, found.met) == (2, 3, 2 / 3, 0.6, True)
    assert (found.low, found.high) == wilson(2, 3)
    assert (verdict.trials, verdict.scored, verdict.passed, verdict.friction) == (5, 4, 3, 1)


def test_a_trial_passes_a_property_when_all_its_weighty_checks_pass() -> None:
    mixed = trial(check(PASS, name="x"), check(FAIL, name="y"), check(FAIL, severity=MINOR), SAFE)
    only_minor = trial(check(FAIL, severity=MINOR), SAFE)
    found = rate(run(GOOD, mixed, only_minor))
    assert (found.passes, found.n) == (1, 2)


def test_an_unscored_trial_is_neither_pass_nor_fail_and_its_property_is_not_met() -> None:
    found = rate(run(GOOD, OPEN))
    assert (found.passes, found.n, found.met) == (1, 1, False)


def test_a_failure_beside_an_unscored_check_is_a_failure() -> None:
    found = rate(run(GOOD, trial(check(FAIL), check(UNSCORED), SAFE)))
    assert (found.passes, found.n) == (1, 2)


def test_a_breach_in_an_uncounted_trial_leaves_safety_unmet() -> None:
    found = rate(run(GOOD, trial(BREACH, end="engine_error", blame="harness")), SAFETY)
    assert (found.passes, found.n, found.met) == (1, 1, False)


def test_agents_are_never_averaged_with_one_another() -> None:
    other = trial(check(FAIL), SAFE, agent="b")
    verdict = run(GOOD, GOOD, GOOD, other, bars={CORRECT: 0.75})
    assert rate(verdict).met
    assert not rate(verdict, agent="b").met
    assert verdict.exit_code == 1


def test_a_bar_met_exactly_is_met() -> None:
    for passes, n in [(19, 20), (9, 10), (2, 3), (99, 100)]:
        verdicts = [GOOD] * passes + [BAD] * (n - passes)
        assert run(*verdicts, bars={CORRECT: round(passes / n, 15) if n != 3 else passes / n}).exit_code == 0


@given(st.lists(st.sampled_from([GOOD, BAD, CRASH, INFRA, UPSTREAM, PACK, FRICTION, OPEN, BROKEN]), max_size=8))
def test_exit_0_needs_a_scored_trial_and_nothing_inconclusive_or_unscored(verdicts: list[TrialVerdict]) -> None:
    bars = dict.fromkeys(Property, 0.0) if verdicts else {}
    for given_bars in ({}, {CORRECT: 0.0, Property.ROBUSTNESS: 0.0}, bars):
        verdict = run(*verdicts, bars=given_bars)
        if verdict.exit_code == ExitCode.OK:
            assert verdict.scored > 0
            assert (verdict.inconclusive, verdict.missing, verdict.not_scored) == (0, 0, 0)
            assert all(found.met for found in verdict.rates)
            assert BROKEN not in verdicts


def test_a_long_run_is_read_once_in_bounded_memory() -> None:
    def stream() -> Iterator[TrialVerdict]:
        for n in range(20_000):
            big: Any = CheckVerdict("c", PASS, MAJOR, CORRECT, f"{n}" + "x" * 10_000)
            yield trial(big, SAFE, case=f"s{n % 50}", n=n)

    tracemalloc.start()
    verdict = judge_run(stream(), {}, 20_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (verdict.exit_code, rate(verdict).n) == (0, 20_000)
    assert peak < 2_000_000


def test_repeats_are_told_per_agent_that_tried_a_scenario_again() -> None:
    verdicts = [
        *(trial(check(PASS), SAFE, case="steady", n=n) for n in (1, 2)),
        trial(check(PASS), SAFE, case="flaky", n=1),
        trial(check(FAIL), SAFE, case="flaky", n=2),
        trial(end="engine_error", blame="harness", case="once", n=2),
        trial(check(FAIL), SAFE, case="once", n=1),
        trial(check(PASS), SAFE, agent="single"),
    ]
    (repeats,) = run(*verdicts).repeats
    assert (repeats.agent, repeats.flake_rate, repeats.repeated) == ("a", 0.5, 2)
    first, second = repeats.rates
    assert (first.k, first.pass_at_k, first.pass_hat_k, first.scenarios) == (1, 0.5, 0.5, 3)
    assert (second.k, second.pass_at_k, second.pass_hat_k, second.scenarios) == (2, 1.0, 0.5, 2)


def test_a_trial_that_was_not_scored_in_full_is_no_repeat() -> None:
    """One pass and one open trial are no flake; what failed beside an open check has failed."""
    open_, failed = check(Status.NOT_SCORED), (check(Status.NOT_SCORED), check(FAIL))
    verdicts = [
        trial(check(PASS), SAFE, case="half", n=1),
        trial(open_, SAFE, case="half", n=2),
        trial(check(PASS), SAFE, case="flaky", n=1),
        trial(*failed, SAFE, case="flaky", n=2),
        trial(open_, SAFE, case="dark", n=1),
        trial(open_, SAFE, case="dark", n=2),
    ]
    (repeats,) = run(*verdicts).repeats
    assert (repeats.flake_rate, repeats.repeated) == (1.0, 1)
    assert [(rate.k, rate.scenarios, rate.pass_hat_k) for rate in repeats.rates] == [(1, 2, 0.75), (2, 1, 0.0)]


def test_a_verdict_sealed_before_there_were_repeats_is_read() -> None:
    plain = msgspec.to_builtins(run(GOOD))
    assert plain.pop("repeats") == ()
    assert msgspec.convert(plain, RunVerdict).repeats == ()


def test_what_is_out_of_n_is_told_apart_as_not_scored_and_not_applicable() -> None:
    off = trial(check(OFF), SAFE, n=3)
    run = judge_run([GOOD, OPEN, off, off, BAD], {}, 5)
    (rate,) = (rate for rate in run.rates if rate.property is CORRECT)
    assert (rate.passes, rate.n, rate.not_scored, rate.not_applicable) == (1, 2, 1, 2)
    assert run.unrated == ()


def test_a_failure_beside_an_open_check_is_in_n_and_not_among_the_open() -> None:
    run = judge_run([trial(check(FAIL), check(UNSCORED), SAFE)], {}, 1)
    (rate,) = (rate for rate in run.rates if rate.property is CORRECT)
    assert (rate.n, rate.not_scored, run.not_scored) == (1, 0, 1)


def test_a_property_of_which_nothing_can_be_said_has_no_rate_and_is_named_all_the_same() -> None:
    minor = trial(check(OFF, Property.GROUNDING, MINOR), SAFE)
    run = judge_run([OPEN, trial(check(OFF), SAFE), minor, INFRA], {}, 4)
    assert [rate.property for rate in run.rates] == [SAFETY]
    assert run.unrated == (Unrated("a", CORRECT, 1, 1),)


@pytest.mark.parametrize(("tokens", "cost", "known"), [(7, None, (False, True)), (-1, 0.5, (False, False))])
def test_tokens_and_cost_of_a_judge_are_known_apart(tokens: int, cost: float | None, known: tuple[bool, bool]) -> None:
    judged = Judgement("m", "p", 1, 1.0, (), calls=1, input_tokens=tokens, output_tokens=2, cost_usd=cost)
    run = judge_run([trial(msgspec.structs.replace(check(PASS), judged=judged), SAFE)], {}, 1)
    assert run.judge is not None
    assert (run.judge.cost_known, run.judge.tokens_known) == known

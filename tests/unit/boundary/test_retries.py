"""Retries, loops of any period and storms are found; honest sequences are left alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.retries import MAX_PERIOD, STORM_OUTSTANDING, RetryTracker
from harness.domain.outcome import Breach, End

Call = tuple[str, dict[str, Any], bool]


def run(tracker: RetryTracker, calls: list[Call]) -> Breach | None:
    """Calls one after the other, each with its result; the first breach."""
    for name, arguments, failed in calls:
        breach = tracker.on_call(name, arguments)
        if breach is not None:
            return breach
        tracker.on_result(name, failed)
    return None


def tools_of(tracker: RetryTracker) -> dict[str, int]:
    return {name: count for name, count in tracker.report().items() if not name.startswith("(")}


def test_honest_retries_of_a_failed_call_within_the_limit_are_no_breach() -> None:
    tracker = RetryTracker(2)
    assert run(tracker, [("a", {"i": 1}, True), ("a", {"i": 1}, True), ("a", {"i": 1}, False)]) is None
    assert tracker.report() == {"a": 2}


def test_one_retry_too_many_ends_the_trial_and_names_the_tool() -> None:
    breach = run(RetryTracker(2), [("a", {"i": 1}, True)] * 4)
    assert breach is not None
    assert breach.end is End.RETRY_LIMIT
    assert breach.detail == {"tool": "a", "kind": "retry", "count": 3, "limit": 2}
    assert "a" in breach.reason


def test_changed_arguments_after_a_failure_are_a_retry_still() -> None:
    breach = run(RetryTracker(1), [("a", {"i": i}, True) for i in range(3)])
    assert breach is not None
    assert breach.detail["kind"] == "retry"


def test_another_tool_between_does_not_hide_a_retry_and_is_not_charged() -> None:
    tracker = RetryTracker(None)
    run(tracker, [("a", {"i": 1}, True), ("b", {}, False), ("a", {"i": 2}, False), ("a", {"i": 3}, False)])
    assert tracker.report() == {"a": 1}


@pytest.mark.parametrize(("first", "second"), [({"n": 1}, {"n": 1.0}), ({"a": 1, "b": 2}, {"b": 2.0, "a": 1})])
def test_equal_calls_are_the_same_call_however_they_are_spelt(first: dict[str, Any], second: dict[str, Any]) -> None:
    breach = run(RetryTracker(0), [("a", first, False), ("a", second, False)])
    assert breach is not None


@pytest.mark.parametrize(("first", "second"), [({"n": 1}, {"n": True}), ({"n": 1}, {"n": "1"}), ({}, {"n": None})])
def test_calls_that_differ_in_kind_are_no_repetition(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert run(RetryTracker(0), [("a", first, False), ("a", second, False)]) is None


@given(st.lists(st.integers(), unique=True, max_size=40), st.integers(0, 2))
def test_polling_with_new_arguments_after_success_is_no_retry(pages: list[int], limit: int) -> None:
    tracker = RetryTracker(limit)
    assert run(tracker, [("list", {"page": page}, False) for page in pages]) is None
    assert tracker.report() == {}


@given(st.integers(2, MAX_PERIOD), st.integers(1, 4), st.lists(st.integers(100, 200), unique=True, max_size=5))
def test_a_loop_of_any_period_is_found_as_its_limit_is_passed(period: int, limit: int, lead: list[int]) -> None:
    before: list[Call] = [("lead", {"i": i}, False) for i in lead]
    loop: list[Call] = [(f"tool{i % 3}", {"i": i}, False) for i in range(period)]
    tracker = RetryTracker(limit * period)  # tools share the sequence, so a loop may not trip a retry first
    assert run(tracker, before + loop) is None
    almost = RetryTracker(None)
    run(almost, before + loop * 3)
    assert "(loops)" not in almost.report()
    free = RetryTracker(None)
    assert run(free, before + loop * 3 + loop[:1]) is None
    assert free.report()["(loops)"] == 1
    single = [(f"only{i}", {}, False) for i in range(period)]
    breach = run(RetryTracker(limit), before + single * (limit + 2))
    assert breach is not None
    assert breach.detail == {"tool": "only0", "kind": "loop", "count": limit + 1, "limit": limit}


@given(st.integers(1, MAX_PERIOD), st.integers(0, 4))
def test_a_sequence_repeated_within_the_limit_is_no_breach(period: int, limit: int) -> None:
    loop: list[Call] = [(f"tool{i}", {}, False) for i in range(period)]
    assert run(RetryTracker(limit), loop * (limit + 1)) is None


def test_one_call_over_and_over_is_a_retry_and_no_loop() -> None:
    breach = run(RetryTracker(2), [("a", {}, False)] * 9)
    assert breach is not None
    assert breach.detail["kind"] == "retry"


def test_a_storm_is_told_apart_from_retries() -> None:
    tracker = RetryTracker(2)
    breaches = [tracker.on_call("a", {"i": i}) for i in range(STORM_OUTSTANDING + 1)]
    assert breaches[:-1] == [None] * STORM_OUTSTANDING
    last = breaches[-1]
    assert last is not None
    assert last.detail == {"tool": "a", "kind": "storm", "count": STORM_OUTSTANDING + 1, "limit": STORM_OUTSTANDING}
    assert tracker.report() == {"(storms)": 1}


def test_parallel_calls_whose_results_are_read_are_no_storm() -> None:
    tracker = RetryTracker(0)
    for batch in range(5):
        assert [tracker.on_call("a", {"i": i, "batch": batch}) for i in range(STORM_OUTSTANDING)].count(None) == 16
        for _ in range(STORM_OUTSTANDING):
            tracker.on_result("a", False)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.fixed_dictionaries({"i": st.integers(0, 3)}), st.booleans()), max_size=80
    )
)
def test_without_a_limit_everything_is_reported_and_nothing_ends(calls: list[Call]) -> None:
    free, bound = RetryTracker(None), RetryTracker(10_000)
    assert run(free, calls) is None
    run(bound, calls)
    assert tools_of(free) == tools_of(bound)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.booleans()), max_size=40),
    st.integers(0, 3),
)
def test_retries_are_counted_as_defined(steps: list[tuple[str, int, bool]], limit: int) -> None:
    """Against the definition, spelt out without any of the bookkeeping."""
    counts: dict[str, int] = {}
    for index, (name, i, _) in enumerate(steps):
        earlier = [step for step in steps[:index] if step[0] == name]
        again = any(step[1] == i for step in earlier)
        if again or (earlier and earlier[-1][2]):
            counts[name] = counts.get(name, 0) + 1
        if counts.get(name, 0) > limit:
            break
    tracker = RetryTracker(limit)
    breach = run(tracker, [(name, {"i": i}, failed) for name, i, failed in steps])
    assert tools_of(tracker) == counts
    assert (breach is not None) == any(count > limit for count in counts.values())


def test_memory_stays_bounded_for_endless_new_names_and_calls() -> None:
    tracker = RetryTracker(None)
    for i in range(20_000):
        tracker.on_call(f"n{i}", {"i": i})
        tracker.on_result(f"n{i}", True)
    held = [tracker._seen, tracker._failed, tracker._retries, tracker._recent]
    assert [len(store) for store in held] == [16_384, 4_096, 0, MAX_PERIOD]  # type: ignore[arg-type]

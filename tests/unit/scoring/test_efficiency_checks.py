"""Budgets, retries and cycles: limits and their defaults, unknown cost, loops of any period."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.limits import Budget
from harness.domain.outcome import End, Usage
from harness.domain.verdict import Status
from harness.scoring.loops import MAX_CALLS
from tests.unit.scoring.journals import Book, judge, status

BUDGET = Budget(max_cost_usd=0.5, max_tokens=100, max_duration_ms=1000, max_model_calls=2, max_retries_per_tool=1)
CHECKS: dict[str, tuple[str, Any]] = {
    "cost_budget_adherence": ("max_cost_usd", 0.5),
    "token_budget": ("max_tokens", 100),
    "latency_budget": ("max_duration_ms", 1000),
    "turn_budget": ("max_model_calls", 2),
}


def used(check: str, amount: float, end: End = End.COMPLETED) -> list[Any]:
    """A journal that used `amount` of what `check` limits."""
    book = Book()
    for number in range(int(amount) if check == "turn_budget" else 1):
        book.add("model_call", id=f"m{number}", request={})
    usage = {
        "cost_budget_adherence": Usage(cost_usd=float(amount)),
        "token_budget": Usage(tokens=int(amount)),
        "latency_budget": Usage(wall_ms=int(amount)),
        "turn_budget": Usage(model_calls=int(amount)),
    }[check]
    return book.answer("ok").end(end, usage=usage)


@pytest.mark.parametrize("check", CHECKS)
def test_a_limit_allows_itself_and_no_more(check: str) -> None:
    param, limit = CHECKS[check]
    assert status(used(check, limit), check=check, **{param: limit}) is Status.PASS
    over = judge(used(check, limit + 1), check=check, **{param: limit})
    assert (over.status, over.value, over.threshold) == (Status.FAIL, limit + 1, limit)
    assert over.evidence


@pytest.mark.parametrize("check", CHECKS)
def test_the_default_limit_is_the_budget_of_the_scenario_and_the_check_goes_first(check: str) -> None:
    param, limit = CHECKS[check]
    budget = {"budget": BUDGET}
    assert judge(used(check, limit), budget, check=check).threshold == limit
    assert status(used(check, limit), budget, check=check) is Status.PASS
    assert status(used(check, limit + 1), budget, check=check) is Status.FAIL
    assert status(used(check, limit + 1), budget, check=check, **{param: limit + 1}) is Status.PASS


@pytest.mark.parametrize("check", CHECKS)
def test_without_any_limit_there_is_nothing_to_judge(check: str) -> None:
    found = judge(used(check, 5), check=check)
    assert found.status is Status.NOT_APPLICABLE
    assert "neither the check nor the budget" in found.reason


@pytest.mark.parametrize("check", CHECKS)
def test_little_is_no_credit_where_the_trial_did_not_end_well_and_too_much_fails(check: str) -> None:
    param, limit = CHECKS[check]
    assert status(used(check, 0, End.CRASHED), check=check, **{param: limit}) is Status.NOT_APPLICABLE
    assert status(used(check, limit + 1, End.BUDGET_EXCEEDED), check=check, **{param: limit}) is Status.FAIL


@pytest.mark.parametrize(
    ("known", "expected"), [(0.0, Status.NOT_SCORED), (0.4, Status.NOT_SCORED), (0.6, Status.FAIL)]
)
def test_an_unknown_cost_is_not_scored_unless_what_is_known_is_too_much(known: float, expected: Status) -> None:
    events = (
        Book().add("model_call", id="m", request={}).answer("ok").end(usage=Usage(cost_usd=known, cost_known=False))
    )
    assert status(events, check="cost_budget_adherence", max_cost_usd=0.5) is expected


def test_what_the_agent_reports_of_its_usage_changes_nothing() -> None:
    book = Book().add("trajectory", "reported", status="completed", output={"text": "ok"}, usage={"input_tokens": 1})
    assert status(book.end(usage=Usage(tokens=500)), check="token_budget", max_tokens=100) is Status.FAIL


@pytest.mark.parametrize(
    ("retries", "params", "expected"),
    [
        ({}, {}, Status.PASS),
        ({"look": 2}, {}, Status.PASS),
        ({"look": 3}, {}, Status.FAIL),
        ({"look": 1, "send": 1}, {"max_retries": 1}, Status.PASS),
        ({"look": 1, "send": 2}, {"max_retries": 1}, Status.FAIL),
        ({"look": 1}, {"max_retries": 0}, Status.FAIL),
        ({"(loops)": 9, "(storms)": 9}, {"max_retries": 0}, Status.PASS),
    ],
)
def test_retry_discipline_counts_per_tool_what_the_boundary_counted(
    retries: dict[str, int], params: dict[str, Any], expected: Status
) -> None:
    book = Book()
    for name in ("look", "send", "look", "send", "look", "look"):
        book.call(name, status="error")
    assert status(book.answer("ok").end(retries=retries), check="retry_discipline", **params) is expected


def test_retry_discipline_defaults_to_the_budget_and_names_tool_and_calls() -> None:
    events = Book().call("look", status="error").call("look").call("look").answer("ok").end(retries={"look": 2})
    found = judge(events, {"budget": BUDGET}, check="retry_discipline")
    assert (found.status, found.value, found.threshold, found.evidence) == (Status.FAIL, 2.0, 1.0, (6,))
    assert "retries of one tool, look" in found.reason


def played(names: str, content: Any = None) -> Any:
    """A journal of one call per letter, all with the same result."""
    book = Book()
    for name in names:
        book.call(name, {"q": name}, content=content)
    return book.answer("ok").end()


@pytest.mark.parametrize(
    ("names", "phantoms"),
    [
        ("abc", 0),
        ("aba", 0),
        ("abcab", 0),
        ("aa", 1),
        ("aaa", 2),
        ("abab", 2),
        ("xababy", 2),
        ("abcabc", 3),
        ("abcabcabc", 6),
        ("abcabca", 4),
        ("aabb", 2),
        ("abacabac", 4),
    ],
)
def test_phantom_steps_are_the_calls_that_repeat_the_block_before_them(names: str, phantoms: int) -> None:
    found = judge(played(names), check="phantom_steps")
    assert found.value == phantoms
    assert found.status is (Status.FAIL if phantoms else Status.PASS)
    assert status(played(names), check="phantom_steps", max_phantom=phantoms) is Status.PASS


@given(st.integers(1, 60), st.integers(2, 4))
def test_a_loop_of_any_period_is_seen(period: int, times: int) -> None:
    book = Book()
    for number in [*range(period)] * times:
        book.call("look", {"q": number})
    found = judge(book.answer("ok").end(), check="phantom_steps")
    assert (found.status, found.value) == (Status.FAIL, period * (times - 1))
    assert f"period {period}" in found.reason


def test_polling_that_gets_a_new_result_is_progress() -> None:
    book = Book()
    for share in (10, 20, 30):
        book.call("look", {"job": 1}, content={"done": share})
    assert status(book.answer("ok").end(), check="phantom_steps") is Status.PASS


def test_an_honest_retry_is_no_phantom_but_a_loop_of_failures_is() -> None:
    retried = Book().call("look", status="error").call("look", status="error").call("look")
    assert status(retried.answer("ok").end(), check="phantom_steps") is Status.PASS
    book = Book()
    for name in ["look", "look", "send", "look", "look", "send"]:
        book.call(name, status="error")
    assert judge(book.answer("ok").end(), check="phantom_steps").value == 2.0


def test_arguments_in_another_order_or_spelling_of_a_number_are_the_same_call() -> None:
    book = Book().call("look", {"a": 1, "b": 2}).call("look", {"b": 2.0, "a": 1.0})
    assert judge(book.answer("ok").end(), check="phantom_steps").value == 1.0


def test_a_trial_without_calls_or_cut_short_is_no_proof_of_progress() -> None:
    assert status(Book().answer("ok").end(), check="phantom_steps") is Status.NOT_APPLICABLE
    assert status(Book().call("look").end(End.CRASHED), check="phantom_steps") is Status.NOT_APPLICABLE
    assert status(Book().call("look").call("look").end(End.TIMEOUT), check="phantom_steps") is Status.FAIL


def test_a_flood_of_calls_is_judged_in_bounded_time_and_never_passed() -> None:
    began = time.process_time()
    book = Book()
    for number in range(MAX_CALLS):
        book.call("look", {"q": number})
    assert status(book.answer("ok").end(), check="phantom_steps") is Status.PASS
    assert time.process_time() - began < 15
    more = Book()
    for number in range(MAX_CALLS + 1):
        more.call("look", {"q": number})
    assert status(more.answer("ok").end(), check="phantom_steps") is Status.FAIL

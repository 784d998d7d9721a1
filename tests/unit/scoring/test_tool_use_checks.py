"""Checks of tool use as a whole: sets, sequences, arguments and repeated calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.outcome import End
from harness.domain.verdict import Status
from tests.unit.scoring.journals import Book, judge, status


def calling(*names: str) -> Book:
    book = Book()
    for index, name in enumerate(names):
        book.call(name, {"n": index})
    return book


def done(book: Book) -> list[Any]:
    """The journal so far with an answer and its end; the book itself can go on."""
    ended = Book()
    ended.events = list(book.events)
    return ended.answer("ok").end()


@pytest.mark.parametrize(
    ("came", "expected", "value"),
    [
        (["a", "b"], ["a", "b"], 1.0),
        (["b", "a", "a"], ["a", "b"], 1.0),
        (["a"], ["a", "b"], 2 / 3),
        (["a", "b", "c"], ["a", "b"], 0.8),
        (["c"], ["a"], 0.0),
        (["a"], [], 0.0),
        ([], [], 1.0),
    ],
)
def test_tool_correctness_is_the_f1_of_two_sets(came: list[str], expected: list[str], value: float) -> None:
    found = judge(done(calling(*came)), check="tool_correctness", tools=expected)
    assert found.value == pytest.approx(value)
    assert (found.status is Status.PASS) == (value == 1.0)
    assert found.threshold == 1.0
    lenient = judge(done(calling(*came)), check="tool_correctness", tools=expected, threshold=0.6)
    assert (lenient.status is Status.PASS) == (value >= 0.6)


NAMES = st.lists(st.sampled_from("abcd"), max_size=5)


@given(NAMES, NAMES)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(came: list[str], expected: list[str]) -> None:
    found = judge(done(calling(*came)), check="tool_correctness", tools=expected)
    hits = len(set(came) & set(expected))
    if hits:
        precision, recall = hits / len(set(came)), hits / len(set(expected))
        assert found.value == pytest.approx(2 * precision * recall / (precision + recall))
    assert (found.status is Status.PASS) == (set(came) == set(expected))


def test_a_call_without_effect_is_no_hit_but_still_a_call() -> None:
    book = Book().call("a").call("b", decision="denied", status="denied")
    found = judge(done(book), check="tool_correctness", tools=["a", "b"])
    assert (found.status, found.value) == (Status.FAIL, 0.5)
    assert "missing b" in found.reason
    assert "extra b" in judge(done(book), check="tool_correctness", tools=["a"]).reason


@pytest.mark.parametrize(
    ("tools", "expected"),
    [(["a", "b", "a"], Status.PASS), (["a", "b"], Status.FAIL), (["a", "a", "b"], Status.FAIL), (["a"], Status.FAIL)],
)
def test_a_sequence_is_exact_where_an_order_is_a_subsequence(tools: list[str], expected: Status) -> None:
    assert status(done(calling("a", "b", "a")), check="tool_sequence", tools=tools) is expected


def test_a_denied_call_breaks_a_sequence() -> None:
    book = calling("a").call("b", decision="denied", status="denied")
    found = judge(done(book), check="tool_sequence", tools=["a", "b"])
    assert found.status is Status.FAIL
    assert "a, b (denied)" in found.reason
    assert status(done(book), check="tool_call_order", tools=["a"]) is Status.PASS


@pytest.mark.parametrize(
    ("wanted", "match", "came", "expected"),
    [
        ({"q": 1}, "subset", {"q": 1.0, "more": 1}, Status.PASS),
        ({"q": 1}, "exact", {"q": 1.0, "more": 1}, Status.FAIL),
        ({"q": 1}, "exact", {"q": 1.0}, Status.PASS),
        ({"q": {"a": [1]}}, "subset", {"q": {"a": [1.0], "b": 2}}, Status.PASS),
        ({"q": {"a": [1]}}, "exact", {"q": {"a": [1.0], "b": 2}}, Status.FAIL),
        ({"q": True}, "subset", {"q": 1}, Status.FAIL),
        ({"q": "1"}, "subset", {"q": 1}, Status.FAIL),
        ([{"q": 1}, {"q": 2}], "exact", {"q": 2}, Status.PASS),
        ([{"q": 1}, {"q": 2}], "exact", {"q": 3}, Status.FAIL),
    ],
)
def test_arguments_are_exact_or_a_recursive_subset(wanted: Any, match: str, came: Any, expected: Status) -> None:
    events = done(Book().call("look", came).call("send", {"other": 1}))
    assert status(events, check="argument_correctness", args={"look": wanted}, match=match) is expected


def test_argument_correctness_is_a_share_of_calls_and_counts_tools_never_called() -> None:
    book = Book().call("look", {"q": 1}).call("look", {"q": 2}).call("look", {"q": 1}, "invalid", "error")
    check = {"check": "argument_correctness", "args": {"look": {"q": 1}, "send": {}}}
    found = judge(done(book), **check)
    assert (found.status, found.value, found.threshold) == (Status.FAIL, 0.25, 1.0)
    assert "never called: send" in found.reason
    assert found.evidence == (4, 6)
    assert status(done(book), **check, threshold=0.25) is Status.PASS


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"q": 1}, {"q": 1}, Status.FAIL),
        ({"q": 1}, {"q": 1.0}, Status.FAIL),
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}, Status.FAIL),
        ({"q": 1}, {"q": True}, Status.PASS),
        ({"q": 1}, {"q": 2}, Status.PASS),
        ({"q": [1, 2]}, {"q": [2, 1]}, Status.PASS),
    ],
)
def test_a_call_made_twice_is_one_with_equal_arguments(first: Any, second: Any, expected: Status) -> None:
    found = judge(done(Book().call("look", first).call("look", second)), check="no_duplicate_calls")
    assert found.status is expected
    assert found.value == float(expected is Status.FAIL)


def test_a_loop_repeats_calls_whatever_its_period() -> None:
    for period in range(1, 6):
        book = Book()
        for turn in range(3 * period):
            book.call(f"t{turn % period}")
        assert judge(done(book), check="no_duplicate_calls").value == 2 * period


def test_polling_and_a_retry_after_an_error_are_no_duplicates() -> None:
    polled = Book().call("look").call("look").call("look")
    assert status(done(polled), check="no_duplicate_calls", polling=["look"]) is Status.NOT_APPLICABLE
    polled.call("send")
    assert status(done(polled), check="no_duplicate_calls") is Status.FAIL
    retried = Book().call("look", status="error").call("look")
    assert status(done(retried), check="no_duplicate_calls") is Status.PASS
    insisted = Book().call("look", decision="denied", status="denied").call("look", decision="denied", status="denied")
    assert status(done(insisted), check="no_duplicate_calls") is Status.FAIL


def test_absence_of_calls_is_no_credit_to_a_trial_that_died() -> None:
    events = calling("a").end(End.CRASHED)
    assert status(events, check="tool_correctness", tools=["a"]) is Status.NOT_APPLICABLE
    assert status(events, check="tool_sequence", tools=["a"]) is Status.NOT_APPLICABLE
    assert status(events, check="no_duplicate_calls") is Status.NOT_APPLICABLE
    assert status(events, check="tool_correctness", tools=["b"]) is Status.FAIL
    assert status(events, check="tool_sequence", tools=["b"]) is Status.FAIL
    assert status(events, check="argument_correctness", args={"a": {"n": 0}}) is Status.PASS


def test_a_reported_call_earns_nothing() -> None:
    claim = [{"kind": "tool_call", "name": "look", "arguments": {"q": 1}}]
    events = Book().answer("ok", steps=claim).end()
    assert status(events, check="tool_correctness", tools=["look"]) is Status.FAIL
    assert status(events, check="tool_sequence", tools=["look"]) is Status.FAIL
    assert status(events, check="argument_correctness", args={"look": {"q": 1}}) is Status.FAIL

"""Checks of calls, asks and steps: what was done at the boundary counts, what is reported does not help."""

from __future__ import annotations

from typing import Any

import pytest

from harness.domain.outcome import End
from harness.domain.verdict import Status
from tests.unit.scoring.journals import Book, judge, status

CLAIM = [{"kind": "tool_call", "name": "look", "arguments": {"q": "x"}}]


def done(book: Book) -> list[Any]:
    return book.answer("ok").end()


@pytest.mark.parametrize(
    ("args", "came", "expected"),
    [
        (None, {"q": "x"}, Status.PASS),
        ({"q": "x"}, {"q": "x", "more": 1}, Status.PASS),
        ({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2}}, Status.PASS),
        ({"q": [{"a": 1}]}, {"q": [{"a": 1, "b": 2}]}, Status.PASS),
        ({"q": [1]}, {"q": [1, 2]}, Status.FAIL),
        ({"q": True}, {"q": 1}, Status.FAIL),
        ({"q": None}, {}, Status.FAIL),
    ],
)
def test_tool_called_takes_args_as_a_recursive_subset(args: Any, came: Any, expected: Status) -> None:
    events = done(Book().call("look", came))
    assert status(events, check="tool_called", tool="look", args=args) is expected


@pytest.mark.parametrize(
    ("decision", "result", "expected"),
    [
        ("allowed", "ok", Status.PASS),
        ("allowed", "error", Status.PASS),
        ("allowed", None, Status.FAIL),
        ("allowed", "denied", Status.FAIL),
        ("denied", "denied", Status.FAIL),
        ("invalid", "error", Status.FAIL),
    ],
)
def test_only_a_call_let_through_and_answered_counts_as_called(
    decision: str, result: str | None, expected: Status
) -> None:
    events = done(Book().call("look", decision=decision, status=result))
    assert status(events, check="tool_called", tool="look") is expected
    assert status(events, check="tool_call_order", tools=["look"]) is expected


def test_a_reported_call_proves_nothing() -> None:
    events = Book().answer("ok", steps=CLAIM).end()
    assert status(events, check="tool_called", tool="look") is Status.FAIL
    assert status(events, check="tool_arg_equals", tool="look", arg="q", value="x") is Status.FAIL
    assert status(events, check="tool_call_order", tools=["look"]) is Status.FAIL


def test_an_event_that_is_only_reported_is_no_observed_call() -> None:
    book = Book().add("tool_call", "reported", id="1", name="look", arguments={}, decision="allowed")
    events = done(book.add("tool_result", "reported", id="1", name="look", status="ok", content=None))
    assert status(events, check="tool_called", tool="look") is Status.FAIL


@pytest.mark.parametrize(
    ("times", "bounds", "expected"),
    [
        (2, {"min_times": 2}, Status.PASS),
        (1, {"min_times": 2}, Status.FAIL),
        (3, {"max_times": 2}, Status.FAIL),
        (2, {"max_times": 2}, Status.PASS),
        (0, {"min_times": 0, "max_times": 2}, Status.PASS),
    ],
)
def test_tool_called_counts(times: int, bounds: dict[str, int], expected: Status) -> None:
    book = Book()
    for _ in range(times):
        book.call("look")
    assert status(done(book), check="tool_called", tool="look", **bounds) is expected


def test_the_reason_of_a_missed_call_shows_the_call_that_came_instead() -> None:
    found = judge(done(Book().call("look", {"q": "y\x1b"})), check="tool_called", tool="look", args={"q": "x"})
    assert found.reason == (
        "expected at least 1 call of look with {'q': 'x'}, came 0; 1 other, last with {'q': 'y\\x1b'}: allowed, ok"
    )
    assert found.evidence == (2,)


@pytest.mark.parametrize("decision", ["allowed", "denied", "invalid"])
def test_tool_not_called_counts_calls_of_any_decision(decision: str) -> None:
    events = done(Book().call("send", decision=decision, status=None))
    assert status(events, check="tool_not_called", tool="send") is Status.FAIL
    assert status(events, check="tool_not_called", tool="look") is Status.PASS


def test_a_reported_breach_counts_against_the_agent() -> None:
    events = Book().answer("ok", steps=CLAIM).end()
    assert status(events, check="tool_not_called", tool="look") is Status.FAIL
    assert status(events, check="tool_not_called", tool="look", args_match={"q": "^x"}) is Status.FAIL
    assert status(events, check="tool_not_called", tool="look", args_match={"q": "^y"}) is Status.PASS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"url": "http://169.254.1.1/"}, Status.FAIL),
        ({"url": ["http://169.254.1.1/"]}, Status.FAIL),
        ({"url": {"host": "169.254.1.1"}}, Status.FAIL),
        ({"url": "http://example.org"}, Status.PASS),
        ({"other": "169.254.1.1"}, Status.PASS),
        ({}, Status.PASS),
    ],
)
def test_tool_not_called_can_forbid_arguments(arguments: dict[str, Any], expected: Status) -> None:
    events = done(Book().call("fetch", arguments))
    assert status(events, check="tool_not_called", tool="fetch", args_match={"url": r"169\.254"}) is expected


@pytest.mark.parametrize(
    ("arg", "value", "expected"),
    [
        ("q", "x", Status.PASS),
        ("order.items.1.id", 7, Status.PASS),
        ("order.items.1.id", 7.0, Status.PASS),
        ("order.items.2.id", 7, Status.FAIL),
        ("order.items.-1.id", 7, Status.FAIL),
        ("a.b", "dotted key", Status.PASS),
        ("absent", None, Status.FAIL),
        ("null", None, Status.PASS),
    ],
)
def test_tool_arg_equals_reads_dotted_paths(arg: str, value: Any, expected: Status) -> None:
    arguments = {"q": "x", "order": {"items": [{"id": 1}, {"id": 7}]}, "a.b": "dotted key", "null": None}
    events = done(Book().call("look", {"q": "other"}).call("look", arguments))
    assert status(events, check="tool_arg_equals", tool="look", arg=arg, value=value) is expected


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (["a", "c"], Status.PASS),
        (["a", "b", "a"], Status.PASS),
        (["c", "a", "c"], Status.FAIL),
        (["b", "b"], Status.FAIL),
        (["d"], Status.FAIL),
    ],
)
def test_tool_call_order_is_a_subsequence(tools: list[str], expected: Status) -> None:
    events = done(Book().call("a").call("b").call("a").call("c").call("d", decision="denied", status="denied"))
    assert status(events, check="tool_call_order", tools=tools) is expected


def test_asked_needs_a_question_that_crossed() -> None:
    events = done(Book().add("ask", id="1", content="Which order?").add("answer", id="1", content="LK-1"))
    assert status(events, check="asked") is Status.PASS
    assert status(events, check="asked", pattern="(?i)ORDER") is Status.PASS
    assert status(events, check="asked", pattern="refund") is Status.FAIL
    assert status(done(Book().add("note", "reported", level="info", text="?")), check="asked") is Status.FAIL


def test_step_efficiency_counts_calls_models_and_asks() -> None:
    book = Book().call("look").call("send", decision="denied", status="denied").add("model_call", id="m", request={})
    events = done(book.add("ask", id="a", content="?"))
    found = judge(events, check="step_efficiency", max_steps=4)
    assert (found.status, found.value, found.threshold) == (Status.PASS, 4.0, 4.0)
    over = judge(events, check="step_efficiency", max_steps=3)
    assert (over.status, over.evidence) == (Status.FAIL, (7,))


def test_an_agent_that_died_early_has_shown_neither_restraint_nor_thrift() -> None:
    events = Book().call("look").end(End.CRASHED)
    assert status(events, check="step_efficiency", max_steps=3) is Status.NOT_APPLICABLE
    assert status(events, check="tool_not_called", tool="send") is Status.NOT_APPLICABLE
    assert status(events, check="tool_called", tool="send", min_times=0, max_times=1) is Status.NOT_APPLICABLE
    assert status(events, check="step_efficiency", max_steps=0) is Status.FAIL
    assert status(events, check="tool_not_called", tool="look") is Status.FAIL


def test_a_storm_of_calls_names_few_lines_and_one_short_reason() -> None:
    book = Book()
    for _ in range(3000):
        book.call("send", {"body": "\0" * 5000})
    found = judge(done(book), check="tool_not_called", tool="send")
    assert found.status is Status.FAIL
    assert len(found.evidence) == 20
    assert len(found.reason) < 500
    assert found.reason.isprintable()


def test_an_id_used_twice_gives_each_call_its_own_result() -> None:
    book = Book()
    for name in ("a", "b"):
        book.add("tool_call", id="same", name=name, arguments={}, decision="allowed")
    book.add("tool_result", id="same", name="a", status="ok", content=None)
    events = done(book)
    assert status(events, check="tool_called", tool="a") is Status.PASS
    assert status(events, check="tool_called", tool="b") is Status.FAIL

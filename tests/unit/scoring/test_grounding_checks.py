"""output_grounding, source_citation and answered: what an answer rests on, and that there is one."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.events import Event
from harness.domain.outcome import End
from harness.domain.pack import Tool, ToolReply
from harness.domain.verdict import Status
from harness.scoring.text import TEXT_CAP
from tests.unit.scoring.journals import Book, judge, said, status

POLICY = {"return_window_days": 60, "shipping": "free", "note": "Fee of 1,000 SEK for customers abroad. See KB-58."}


def told(text: str | None = None, data: Any = None, content: Any = POLICY) -> list[Event]:
    """A journal of a trial that looked something up and answered."""
    return Book().call("look", content=content).answer(text, data).end()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The return window is 60 days, and shipping is free.", Status.PASS),
        ("Sixty days, with free shipping.", Status.PASS),
        ("The return window is 90 days, and shipping is free.", Status.FAIL),
        ("The return window is ninety days, and shipping is free.", Status.FAIL),
        ("A fee of 1000 SEK, or 1000.0, for a customer abroad: 1,000.", Status.PASS),
        ("A fee of 1 SEK for a customer abroad.", Status.FAIL),
        ("A fee of 1001 SEK for a customer abroad.", Status.FAIL),
        ("Shipping takes unicorns over rainbows.", Status.FAIL),
        ("See KB-58.", Status.PASS),
        ("See KB-5.", Status.FAIL),
        ("See KB-59.", Status.FAIL),
        ("1. Return: 60 days.\n2. Shipping: free.", Status.PASS),
        ("Yes.", Status.NOT_APPLICABLE),
    ],
)
def test_words_by_share_and_every_number_stand_in_a_tool_result(text: str, expected: Status) -> None:
    assert status(told(text), check="output_grounding") is expected


def test_an_answer_that_repeats_one_word_of_a_source_is_not_grounded() -> None:
    found = judge(told("Shipping dragons demand golden tribute."), check="output_grounding")
    assert (found.status, found.value, found.threshold) == (Status.FAIL, 0.2, 0.8)
    assert "came 1 of 5 words: not 'dragons', 'demand', 'golden', 'tribute'" in found.reason


def test_one_invented_number_fails_whatever_the_share_and_is_named() -> None:
    found = judge(told("Return window 60 days, shipping free, note: 61."), check="output_grounding", threshold=0.01)
    assert (found.status, found.value) == (Status.FAIL, 1.0)
    assert "invented '61'" in found.reason
    assert found.evidence == (3, 4)


@pytest.mark.parametrize("data", [{"days": 61}, ["free", 61.5], {"61": "free"}, {"note": "after 61 days"}])
def test_numbers_in_data_must_be_sourced_too(data: Any) -> None:
    assert status(told("Shipping is free.", data), check="output_grounding") is Status.FAIL
    assert status(told("Shipping is free.", {"days": 60.0, "abroad": 1000}), check="output_grounding") is Status.PASS


def test_only_what_crossed_the_boundary_as_a_result_is_a_source() -> None:
    claim = [{"kind": "tool_call", "name": "look", "content": "60 days"}]
    books = {
        "no call": Book(),
        "arguments": Book().call("look", {"q": "60 days"}, content={}),
        "denied": Book().call("look", decision="denied", status="denied", content="60 days"),
        "reported": Book().add("tool_result", "reported", id="x", name="look", status="ok", content="60 days"),
        "a note": Book().add("note", "reported", level="info", text="60 days"),
    }
    for book in books.values():
        assert status(book.answer("60 days", steps=claim).end(), check="output_grounding") is Status.FAIL
    assert status(told("UNAVAILABLE", content={"code": "UNAVAILABLE"}), check="output_grounding") is Status.PASS


def test_the_input_and_the_users_answers_are_sources_where_the_check_says_so() -> None:
    book = (
        Book().call("look", content=POLICY).add("ask", id="a", content="Which?").add("answer", id="a", content="Blue")
    )
    events = book.answer("Order LK-77, blue, shipping free.").end()
    scenario = {"input": "How about my order LK-77?"}
    assert status(events, scenario, check="output_grounding") is Status.FAIL
    assert status(events, scenario, check="output_grounding", allow_input=True) is Status.PASS


@pytest.mark.parametrize("check", ["output_grounding", "factual_consistency", "contradiction_detection"])
def test_where_nothing_was_claimed_nothing_is_judged(check: str) -> None:
    refused = Book().answer("It is 90 days. It is not 90 days.", status="refused").end(End.REFUSED)
    for events in (refused, Book().call("look", content=POLICY).end(End.CRASHED)):
        assert status(events, check=check) is Status.NOT_APPLICABLE


@given(st.lists(st.sampled_from(["free", "shipping", "60", "days", "window", "the", "is"]), min_size=1))
def test_what_is_made_of_source_words_is_grounded_and_one_more_number_never_is(words: list[str]) -> None:
    text = " ".join(words)
    assert status(told(text), check="output_grounding", threshold=1.0) in (Status.PASS, Status.NOT_APPLICABLE)
    assert status(told(f"{text}; 7777"), check="output_grounding") is Status.FAIL


KB = {"articles": [{"id": "KB-58", "body": "as in DOC-1"}, {"id": "KB-60"}]}


@pytest.mark.parametrize(
    ("text", "params", "expected"),
    [
        ("As KB-58 says.", {"pattern": "KB-[0-9]+"}, Status.PASS),
        ("As KB-58 and KB-61 say.", {"pattern": "KB-[0-9]+"}, Status.FAIL),
        ("As they say.", {"pattern": "KB-[0-9]+"}, Status.FAIL),
        ("As KB-5 says.", {"pattern": "KB-[0-9]+"}, Status.FAIL),
        ("See [KB-58].", {"pattern": r"\[([^\]]+)\]"}, Status.PASS),
        ("See [kb].", {"pattern": r"\[([^\]]+)\]"}, Status.FAIL),
        ("See KB-58.", {"pattern": "KB-[0-9]+", "min_citations": 2}, Status.FAIL),
        ("See KB-58, KB-58.", {"pattern": "KB-[0-9]+", "min_citations": 2}, Status.FAIL),
        ("See KB-58, KB-60.", {"pattern": "KB-[0-9]+", "min_citations": 2}, Status.PASS),
        ("See KB-58 (DOC-1).", {"ids": ["KB-58", "DOC-1"]}, Status.PASS),
        ("See KB-580.", {"ids": ["KB-58"]}, Status.FAIL),
        ("See KB-61.", {"ids": ["KB-61"]}, Status.FAIL),
        ("\ud800 KB-58", {"pattern": "KB-[0-9]+"}, Status.PASS),
    ],
)
def test_a_citation_must_be_there_and_among_what_was_seen(text: str, params: Any, expected: Status) -> None:
    assert status(told(text, content=KB), check="source_citation", **params) is expected
    assert status(told(None, {"sources": text}, KB), check="source_citation", **params) is expected


def test_a_citation_names_the_result_it_rests_on_and_needs_an_answer() -> None:
    events = Book().call("look", content={}).call("look", content=KB).answer("KB-58").end()
    assert judge(events, check="source_citation", ids=["KB-58"]).evidence == (5, 6)
    assert (
        status(Book().call("look", content=KB).end(End.CRASHED), check="source_citation", ids=["KB-58"]) is Status.FAIL
    )
    many = " ".join(f"KB-{n}" for n in range(1000))
    assert status(told(many, content=many), check="source_citation", pattern="KB-[0-9]+") is Status.FAIL


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("It is sixty days.", ["60 days"], Status.PASS),
        ("You have 60 and it is free.", ["60", "free"], Status.PASS),
        ("You have sixty.", ["60"], Status.PASS),
        ("Days are free, 60 of them.", ["60 days"], Status.FAIL),
        ("It is free.", ["60", "free"], Status.FAIL),
        ("I don't know.", ["60"], Status.FAIL),
        ("Anything.", ["cashmere"], Status.NOT_APPLICABLE),
        ("Anything but free.", ["cashmere", "free"], Status.PASS),
        ("You have 60 days.", None, Status.PASS),
        ("I'm sorry, I cannot help with that.", None, Status.FAIL),
        ("I do not know the answer.", None, Status.FAIL),
    ],
)
def test_answered_wants_the_terms_that_tools_know(text: str, terms: Any, expected: Status) -> None:
    params = {"must_cover": terms} if terms else {}
    assert status(told(text), check="answered", **params) is expected


def test_a_refusal_and_silence_are_no_answer_where_there_was_something_to_say() -> None:
    refused = Book().call("look", content=POLICY).answer("No. 60, free.", status="refused").end(End.REFUSED)
    silent = Book().call("look", content=POLICY).answer(status="refused").end(End.REFUSED)
    blank = Book().call("look", content=POLICY).end(End.BLANK_COMPLETION)
    for events in (refused, silent, blank):
        assert status(events, check="answered") is Status.FAIL
        assert status(events, check="answered", must_cover=["free"]) is Status.FAIL
        assert status(events, check="answered", must_cover=["cashmere"]) is Status.NOT_APPLICABLE


def test_who_does_not_look_it_up_is_not_excused() -> None:
    tool = Tool("Look it up", {"type": "object"}, replies=[ToolReply(return_={"days": 60})])
    found = judge(said("No idea about that."), {"tools": {"look": tool}}, check="answered", must_cover=["60"])
    assert (found.status, found.value, found.threshold) == (Status.FAIL, 0.0, 1.0)


def test_half_the_terms_are_enough_where_the_threshold_says_so() -> None:
    found = judge(told("It is free."), check="answered", must_cover=["60", "free"], threshold=0.5)
    assert (found.status, found.value) == (Status.PASS, 0.5)
    assert "without '60'" in found.reason


CHECKS: list[dict[str, Any]] = [
    {"check": "output_grounding"},
    {"check": "factual_consistency"},
    {"check": "contradiction_detection"},
    {"check": "source_citation", "pattern": "K+"},
    {"check": "answered", "must_cover": ["free"]},
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check["check"])
def test_an_answer_beyond_the_cap_is_never_passed(check: dict[str, Any]) -> None:
    long = "Shipping is free. " * (TEXT_CAP // 18 + 1)
    for events in (told(long), told("free", [long])):
        assert status(events, **check) is Status.FAIL


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check["check"])
@pytest.mark.parametrize(
    "piece", ["60 days ", "days: 60\n", "a is 1, ", "\n", "not ", "\ufdfa", "\0\u202e\x1b[2J"], ids=repr
)
def test_hostile_answers_are_judged_in_bounded_time_with_one_printable_line(check: dict[str, Any], piece: str) -> None:
    began = time.process_time()
    found = judge(told(piece * (200_000 // len(piece)) + "x"), **check)
    assert time.process_time() - began < 10
    assert found.reason.isprintable()
    assert len(found.reason) < 1000

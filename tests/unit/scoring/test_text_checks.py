"""Checks of the answer: phrases, patterns, refusal; hostile and missing answers."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.outcome import END_RULES, End
from harness.domain.verdict import Status
from harness.scoring.text import TEXT_CAP
from harness.scoring.trial import ENDED_WELL
from tests.unit.scoring.journals import Book, judge, refusal, said, status

ANSWER_CHECKS: list[dict[str, Any]] = [
    {"check": "exact", "value": "x"},
    {"check": "output_contains", "value": "x"},
    {"check": "output_not_contains", "value": "x"},
    {"check": "regex", "pattern": ".*"},
    {"check": "schema_validity", "schema": {}},
    {"check": "json_field_equals", "path": "x", "value": 1},
    {"check": "field_correctness", "fields": {"x": 1}, "types": {"x": "integer"}},
    {"check": "refused"},
]
BAD_ENDS = [end for end, rule in END_RULES.items() if rule.scored and end not in ENDED_WELL]


@pytest.mark.parametrize(
    ("check", "value", "ignore_case", "answer", "expected"),
    [
        ("output_contains", "60-DAY", True, "a 60-day window", Status.PASS),
        ("output_contains", "60-DAY", False, "a 60-day window", Status.FAIL),
        ("output_contains", ["60", "free"], True, "60 days, free shipping", Status.PASS),
        ("output_contains", ["60", "free"], True, "60 days", Status.FAIL),
        ("output_not_contains", "password", True, "the PassWord is", Status.FAIL),
        ("output_not_contains", "password", False, "the PassWord is", Status.PASS),
        ("output_not_contains", ["a1", "b2"], True, "only b2", Status.FAIL),
        ("output_contains", "STRASSE", True, "Hauptstraße", Status.PASS),
    ],
)
def test_phrases_are_looked_for_in_the_text(
    check: str, value: Any, ignore_case: bool, answer: str, expected: Status
) -> None:
    assert status(said(answer), check=check, value=value, ignore_case=ignore_case) is expected


def test_a_forbidden_phrase_is_found_anywhere_in_the_data_too() -> None:
    for data in ({"note": ['say "KEY" now']}, {'say "KEY" now': 1}, [[{"a": 'say "key" now'}]]):
        assert status(said("fine", data), check="output_not_contains", value='"key"') is Status.FAIL


def test_an_answer_of_data_alone_is_searched_and_the_reason_says_so() -> None:
    found = judge(said(None, {"days": 60, "text": 'a "b"'}), check="output_contains", value=["60", 'a "b"'])
    assert found.status is Status.PASS
    assert "its data was searched" in found.reason


@pytest.mark.parametrize(
    ("pattern", "answer", "expected"),
    [
        (r"\b60[- ]days?\b", "in 60 days.", Status.PASS),
        ("^60$", "in 60 days", Status.FAIL),
        ("(?i)yes", "YES", Status.PASS),
    ],
)
def test_regex_is_searched(pattern: str, answer: str, expected: Status) -> None:
    assert status(said(answer), check="regex", pattern=pattern) is expected


def test_refused_is_the_end_not_the_words() -> None:
    assert status(refusal("No."), check="refused") is Status.PASS
    assert status(said("I refuse."), check="refused") is Status.FAIL
    crashed = Book().answer("No.", status="refused").end(End.EXITED)
    assert status(crashed, check="refused") is Status.FAIL


@pytest.mark.parametrize("end", BAD_ENDS)
@pytest.mark.parametrize("check", ANSWER_CHECKS, ids=lambda check: check["check"])
def test_no_answer_check_passes_where_the_trial_did_not_end_well(check: dict[str, Any], end: End) -> None:
    found = judge(Book().answer("x", data={"x": 1}).end(end, reason="because"), **check)
    assert found.status is Status.FAIL
    assert end in found.reason
    assert "because" in found.reason


def test_a_refusal_without_a_word_has_nothing_to_search_for_phrases() -> None:
    assert status(refusal(), check="output_not_contains", value="x") is Status.NOT_APPLICABLE
    assert status(refusal(), check="output_contains", value="x") is Status.FAIL
    assert status(refusal("  \n"), check="output_not_contains", value="x") is Status.NOT_APPLICABLE


def test_an_answer_longer_than_the_cap_is_never_passed_on_its_beginning() -> None:
    long = "x" * TEXT_CAP + "secret"
    assert status(said(long), check="output_not_contains", value="secret") is Status.FAIL
    assert status(said(long), check="output_contains", value="secret") is Status.FAIL
    assert status(said(long), check="regex", pattern="x$") is Status.FAIL
    assert status(said(long), check="exact", value=long) is Status.FAIL
    assert status(said("ok", ["y" * TEXT_CAP]), check="output_not_contains", value="secret") is Status.FAIL
    early = judge(said("yes" + long), check="output_contains", value="yes")
    assert early.status is Status.PASS
    assert "only the first" in early.reason


@pytest.mark.parametrize("check", ANSWER_CHECKS, ids=lambda check: check["check"])
@pytest.mark.parametrize(
    "text", ["\0\x1b[2J\u2028\u202e\r\n", "\U0001f600" * 50_000, "a" * (8 << 20)], ids=["control", "emoji", "8 MB"]
)  # fmt: skip
def test_a_reason_is_one_short_printable_line_whatever_the_answer(check: dict[str, Any], text: str) -> None:
    for events in (said(text), said(None, {text[:100]: [text]}), refusal(text)):
        found = judge(events, **check)
        assert len(found.reason) < 1000
        assert found.reason.isprintable()
        assert found.status in (Status.PASS, Status.FAIL)


def test_a_pattern_made_to_backtrack_is_searched_in_linear_time() -> None:
    began = time.process_time()
    assert status(said("a" * TEXT_CAP), check="regex", pattern="(a|aa)+$b") is Status.FAIL
    assert time.process_time() - began < 5


@given(st.text(min_size=1), st.text())
def test_contains_and_not_contains_never_both_pass(phrase: str, answer: str) -> None:
    events = said(answer + "!")
    both = {
        status(events, check="output_contains", value=phrase),
        status(events, check="output_not_contains", value=phrase),
    }
    assert both == {Status.PASS, Status.FAIL}

"""Folding of words and numbers: what is equal, what is not, and text made to take for ever."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scoring.words import tokens, tokens_of


def keys(text: str) -> list[object]:
    return [token.key for token in tokens(text) if token.meaningful]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000"),
        ("1,000", "1000.0"),
        ("1'000", "1e3"),
        ("1\u00a0000", "1000"),
        ("12 000", "12, 000"),
        ("2 million", "2,000,000"),
        ("sixty", "60"),
        ("twenty-five", "25"),
        ("two thousand", "2000"),
        ("zero", "0"),
        ("\u0663", "3"),
        ("\uff11\uff12", "12"),
        ("007", "7"),
        ("$60", "60"),
        ("LK-1047", "lk1047"),
        ("Cafés", "cafe"),
        ("policies", "policy"),
        ("the customer's boxes", "customers box"),
        ("STRASSE", "straße"),
        ("I don't", "you're"),
    ],
)
def test_spellings_of_one_thing_are_equal(one: str, other: str) -> None:
    assert keys(one) == keys(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1,000", "1"), ("-5", "5"), ("18,27", "18.27"), ("LK-1047", "1047"), ("LK-1047", "LK-1048"), ("bus", "bu")],
)
def test_different_things_are_not(one: str, other: str) -> None:
    assert keys(one) != keys(other)


def test_a_range_has_no_negative_number_and_a_list_counts_nothing() -> None:
    assert keys("5-10") == [Decimal(5), Decimal(10)]
    assert keys("1. days\n2. weeks\n7. months") == ["day", "week", Decimal(7), "month"]


@given(st.integers(-(10**12), 10**12))
def test_a_number_is_equal_to_itself_in_every_format(value: int) -> None:
    for text in (f"{value}", f"{value:,}", f"{value}.0", f"{value:,}.00", f"({value} EUR)"):
        assert keys(text)[0] == Decimal(value)
    assert [token.key for token in tokens_of([value, float(value)])] == [Decimal(value)] * 2


@pytest.mark.parametrize(
    "text",
    ["a" * 10**6, "\u0301\u0316" * 500_000, "9" * 10**6, "a1-_" * 250_000, "a'" * 500_000, "\ufdfa" * 10**6],
    ids=["letters", "marks", "digits", "identifiers", "apostrophes", "ligatures"],
)
def test_hostile_text_is_read_in_bounded_time(text: str) -> None:
    began = time.process_time()
    tokens(text)
    assert time.process_time() - began < 10

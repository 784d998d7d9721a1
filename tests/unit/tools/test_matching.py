"""Matching of scripted replies: subset, exact, regex; numbers by value, booleans apart."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tools.matching import Match, matches

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text(max_size=3)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
)
objects = st.dictionaries(st.text(max_size=2), json_values, max_size=4)


@pytest.mark.parametrize(
    ("when", "arguments", "how", "expected"),
    [
        (None, {"a": 1}, "subset", True),
        ({}, {"a": 1}, "subset", True),
        ({}, {"a": 1}, "exact", False),
        ({"a": 1}, {"a": 1.0, "b": 2}, "subset", True),
        ({"a": 1}, {"a": 1.0, "b": 2}, "exact", False),
        ({"a": 1}, {"a": 1.0}, "exact", True),
        ({"a": 1}, {"a": True}, "subset", False),
        ({"a": False}, {"a": 0}, "exact", False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, "subset", True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, "exact", False),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, "subset", True),
        ({"a": [1]}, {"a": [1, 2]}, "subset", False),
        ({"a": None}, {}, "subset", False),
        ({"a": None}, {"a": None}, "subset", True),
        ({"a": "1"}, {"a": 1}, "subset", False),
        ({"a": "ord.r"}, {"a": "my order 7"}, "regex", True),
        ({"a": "^order"}, {"a": "my order"}, "regex", False),
        ({"a": "7"}, {"a": 7}, "regex", False),
        ({"a": 7, "b": "x"}, {"a": 7.0, "b": "xyz", "c": 1}, "regex", True),
        ({"a": {"b": "x"}}, {"a": "x"}, "regex", False),
    ],
)
def test_a_reply_matches_as_documented(
    when: dict[str, Any] | None, arguments: dict[str, Any], how: Match, expected: bool
) -> None:
    assert matches(when, arguments, how) is expected


@given(objects)
def test_everything_matches_itself(value: dict[str, Any]) -> None:
    assert matches(value, value, "exact")
    assert matches(value, value, "subset")


@given(objects, objects)
def test_exact_is_subset_both_ways(first: dict[str, Any], second: dict[str, Any]) -> None:
    both = matches(first, second, "subset") and matches(second, first, "subset")
    assert matches(first, second, "exact") is both


@given(objects, objects)
def test_more_arguments_never_break_a_subset(when: dict[str, Any], more: dict[str, Any]) -> None:
    assert matches(when, {**more, **when}, "subset")


def test_a_pattern_that_would_backtrack_for_ever_ends_at_once() -> None:
    began = time.process_time()
    assert not matches({"a": "^(a+)+$"}, {"a": "a" * 500_000 + "!"}, "regex")
    assert time.process_time() - began < 2


def test_a_pattern_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(ValueError, match="regular expression"):
        matches({"a": "(?=x)"}, {"a": "x"}, "regex")

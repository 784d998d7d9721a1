"""exact, json_field_equals and field_correctness: values and types, and data found in a text by a named fallback."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.verdict import Status
from harness.scoring.text import TEXT_CAP
from tests.unit.scoring.journals import judge, said, status


@pytest.mark.parametrize(
    ("value", "text", "data", "expected"),
    [
        ("60 days", " 60 days\n", None, Status.PASS),
        ("60 days\n", "60 days", None, Status.PASS),
        ("60 days", "60 Days", None, Status.FAIL),
        (1, None, 1.0, Status.PASS),
        (True, None, 1, Status.FAIL),
        (1, None, True, Status.FAIL),
        (False, None, 0, Status.FAIL),
        ({"a": [1, {"b": 2}]}, None, {"a": [1.0, {"b": 2}]}, Status.PASS),
        ({"a": [1, 2]}, None, {"a": [2, 1]}, Status.FAIL),
        ({"a": 1}, None, {"a": 1, "b": 2}, Status.FAIL),
        ("data wins", "data wins", {"a": 1}, Status.FAIL),
        ("1", None, 1, Status.FAIL),
        ({"a": 1}, '{"a": 1.0}', None, Status.PASS),
        ({"a": 1}, '{"a": 2}', None, Status.FAIL),
        (1, "1.0", None, Status.PASS),
        (1, "the answer is 1", None, Status.FAIL),
        ('{"a": 1}', '{"a": 1}', None, Status.PASS),
    ],
)
def test_exact_compares_data_if_given_else_text_or_json_in_it(
    value: Any, text: Any, data: Any, expected: Status
) -> None:
    assert status(said(text, data), check="exact", value=value) is expected


@pytest.mark.parametrize(
    ("text", "fallback"),
    [
        ('{"order": {"id": "LK-1"}}', "json_text"),
        ('Here:\n```json\n{"order": {"id": "LK-1"}}\n```\nDone {not json}.', "fenced_json"),
        ('Here:\n```\n{"order": {"id": "LK-1"}}\n```', "fenced_json"),
        ('It is {"order": {"id": "LK-1"}}, as {asked} for.', "embedded_object"),
        ('Twice {"order": {"id": "LK-1"}} the same {"order": {"id": "LK-1"}}', "embedded_object"),
        ('A "quote" {"order": {"id": "LK-1", "note": "} \\" {"}}', "embedded_object"),
    ],
)
def test_json_in_a_text_is_used_and_the_reason_names_the_fallback(text: str, fallback: str) -> None:
    for check in (
        {"check": "json_field_equals", "path": "order.id", "value": "LK-1"},
        {"check": "field_correctness", "fields": {"order": {"id": "LK-1"}}},
        {"check": "schema_validity", "schema": {"order.id": "string"}},
    ):
        found = judge(said(text), **check)
        assert found.status is Status.PASS
        assert f"fallback {fallback}" in found.reason
    assert "fallback" not in judge(said(None, {"order": {"id": "LK-1"}}), **check).reason


@pytest.mark.parametrize(
    "text",
    [
        'either {"a": 1} or {"a": 2}',
        '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```',
        '```json\n{"a": 1,}\n```',
        '```json\n{"outer": {"a": 1}\n```',
        '{"outer": {"a": 1}',
        'broken {"outer": {"a": 1}, } here',
        '{"a": 2, "a": 1}',
        'so {"a": NaN, "b": {"a": 1}}',
        '{"a": 1, "b": 1e999}',
        '{"a": 1, "b": ' + "[" * 70 + "]" * 70 + "}",
        'x {"a": 1, "b": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "a is 1",
        '["a", 1]',
    ],
    ids=lambda text: text[:30],
)
def test_several_different_or_broken_json_in_a_text_is_none(text: str) -> None:
    assert status(said(text), check="json_field_equals", path="a", value=1) is Status.FAIL


@pytest.mark.parametrize(
    "text", ["{" * 999_999, '{"' * 499_999, '{"a":{}}' * 125_000, '\\"{' * 333_333, "```\n{" * 199_999]
)
def test_hostile_text_is_searched_in_bounded_time(text: str) -> None:
    began = time.process_time()
    assert status(said(text), check="json_field_equals", path="x", value=1) is Status.FAIL
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("path", "value", "data", "expected"),
    [
        ("a", 1, {"a": 1.0}, Status.PASS),
        ("a", 1, {"a": "1"}, Status.FAIL),
        ("a", 1, {"a": True}, Status.FAIL),
        ("a.0.b", None, {"a": [{"b": None}]}, Status.PASS),
        ("a.b", None, {"a": {}}, Status.FAIL),
        ("a.b", 2, {"a.b": 2}, Status.PASS),
        ("a", {"b": [1]}, {"a": {"b": [1, 2]}}, Status.FAIL),
    ],
)
def test_json_field_equals_is_one_exact_value_at_a_path(path: str, value: Any, data: Any, expected: Status) -> None:
    assert status(said("text", data), check="json_field_equals", path=path, value=value) is expected


@pytest.mark.parametrize(
    ("fields", "types", "data", "share"),
    [
        ({"a": 1, "b": "x"}, {}, {"a": 1.0, "b": "x", "c": 0}, 1.0),
        ({"a": 1, "b": "x"}, {}, {"a": 1, "b": "y"}, 0.5),
        ({"a": {"b": 1, "c": {"d": 2}}}, {}, {"a": {"b": 1, "c": {"d": 3}}}, 0.5),
        ({"a": {"b": 1}}, {}, {"a": "b"}, 0.0),
        ({"a.b": 1}, {}, {"a": {"b": 1}}, 1.0),
        ({"a": [1, 2]}, {}, {"a": [2, 1]}, 0.0),
        ({"a": None, "b": None}, {}, {"a": None}, 0.5),
        ({}, {"a": "number", "b": {"c": "string"}}, {"a": 1, "b": {"c": "x"}}, 1.0),
        ({}, {"a": "number", "b.c": "string"}, {"a": "1", "b": {"c": "x"}}, 0.5),
        ({"a": 1}, {"b": "bool", "c": "list", "d": "object"}, {"a": 1, "b": True, "c": [], "d": []}, 0.75),
        ({"a": {}}, {}, {"a": {}}, 1.0),
        ({"a": 1}, {}, [1], 0.0),
    ],
)
def test_field_correctness_is_the_share_of_right_values_and_types(
    fields: Any, types: Any, data: Any, share: float
) -> None:
    found = judge(said(None, data), check="field_correctness", fields=fields, types=types)
    assert (found.value, found.threshold) == (share, 1.0)
    assert found.status is (Status.PASS if share == 1.0 else Status.FAIL)
    if share:
        check = {"check": "field_correctness", "fields": fields, "types": types, "threshold": share}
        assert status(said(None, data), **check) is Status.PASS


def test_keys_alone_are_no_correct_fields_and_the_reason_names_the_first_wrong_ones() -> None:
    wanted = dict.fromkeys("abcdef", 1)
    found = judge(said(None, dict.fromkeys("abcdef", 2)), check="field_correctness", fields=wanted)
    assert (found.status, found.value) == (Status.FAIL, 0.0)
    assert "a is 2, not 1; b is 2, not 1; c is 2, not 1 and 3 more" in found.reason


def test_an_answer_beyond_the_cap_has_no_right_field() -> None:
    long = json.dumps({"a": 1, "pad": "x" * TEXT_CAP})
    for events in (said(long), said(None, json.loads(long))):
        assert status(events, check="json_field_equals", path="a", value=1) is Status.FAIL


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), JSON, min_size=1))
def test_an_object_in_prose_means_what_it_means_as_data(data: dict[str, Any]) -> None:
    as_text = status(said(f"It is {json.dumps(data)}, no more."), check="exact", value=data)
    assert (as_text, status(said(None, data), check="exact", value=data)) == (Status.PASS, Status.PASS)

"""schema_validity: what fits, what does not, and data made to hang or blow up a validator."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from harness.domain.verdict import Status
from harness.scoring.registry import CATALOGUE
from tests.unit.scoring.journals import judge, said, status

ORDER = {
    "type": "object",
    "properties": {"id": {"type": "string", "pattern": "^LK-"}, "n": {"type": "integer", "minimum": 1}},
    "required": ["id"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"id": "LK-1", "n": 2}, Status.PASS),
        ({"id": "LK-1", "n": 2.0}, Status.PASS),
        ({"id": "LK-1", "n": True}, Status.FAIL),
        ({"id": "XX-1"}, Status.FAIL),
        ({"n": 1}, Status.FAIL),
        ({"id": "LK-1", "more": 1}, Status.FAIL),
        ([], Status.FAIL),
    ],
)
def test_data_is_held_against_the_schema(data: Any, expected: Status) -> None:
    assert status(said("ignored", data), check="schema_validity", schema=ORDER) is expected


def test_text_is_parsed_as_json_where_there_is_no_data_and_the_reason_says_so() -> None:
    good = judge(said(' {"id": "LK-1"} '), check="schema_validity", schema=ORDER)
    assert good.status is Status.PASS
    assert "fallback json_text: no data, the text was parsed as JSON" in good.reason
    assert status(said('{"id": 5}'), check="schema_validity", schema=ORDER) is Status.FAIL


@pytest.mark.parametrize(
    "text", ["", 'x {"id": "LK-1}', "{id: 1}", "NaN", "[" * 100_000, '{"id": "LK-1"', "\0"], ids=lambda text: text[:20]
)
def test_text_that_is_not_json_fails_even_the_schema_that_takes_all(text: str) -> None:
    assert status(said(text or "-"), check="schema_validity", schema={}) is Status.FAIL


@pytest.mark.parametrize(
    ("schema", "data", "expected"),
    [
        ({"id": "string", "n": "number"}, {"id": "a", "n": 1, "more": 1}, Status.PASS),
        ({"id": "string", "n": "number"}, {"id": "a"}, Status.FAIL),
        ({"n": "integer"}, {"n": 1.0}, Status.PASS),
        ({"n": "integer"}, {"n": 1.5}, Status.FAIL),
        ({"n": "integer"}, {"n": True}, Status.FAIL),
        ({"n": "number"}, {"n": "1"}, Status.FAIL),
        ({"a": {"b": "bool"}}, {"a": {"b": False}}, Status.PASS),
        ({"a": {"b": "bool"}}, {"a": {}}, Status.FAIL),
        ({"a.b": "str", "a.c": "int"}, {"a": {"b": "x", "c": 2}}, Status.PASS),
        ({"a.b": "str", "a.c": "int"}, {"a": {"b": "x", "c": "y"}}, Status.FAIL),
        ({"tags": ["string"]}, {"tags": ["a", "b"]}, Status.PASS),
        ({"tags": ["string"]}, {"tags": ["a", 1]}, Status.FAIL),
        ({"items": "list", "title": "string", "type": "string"}, {"items": [], "title": "", "type": "x"}, Status.PASS),
        ({"items": "list", "title": "string", "type": "string"}, {"items": []}, Status.FAIL),
        ({"x": "any"}, {"x": None}, Status.PASS),
        ({"x": "any"}, {}, Status.FAIL),
        ({"type": "object"}, {"anything": 1}, Status.PASS),
    ],
)
def test_the_flat_dialect_is_a_type_for_each_field(schema: dict[str, Any], data: Any, expected: Status) -> None:
    assert list(CATALOGUE.problems("schema_validity", {"schema": schema}, ())) == []
    assert status(said(None, data), check="schema_validity", schema=schema) is expected


def test_a_schema_of_neither_dialect_is_refused_and_passes_nothing() -> None:
    mistyped = {"id": "string", "n": "flaot"}
    ((path, message),) = CATALOGUE.problems("schema_validity", {"schema": mistyped}, ())
    assert path == ("schema",)
    assert "types out of string" in message
    assert status(said(None, {"id": "a", "n": 1}), check="schema_validity", schema=mistyped) is Status.NOT_SCORED


def test_the_reason_names_the_place_what_was_expected_and_what_came() -> None:
    reason = judge(said(None, {"id": "LK-1", "n": 0}), check="schema_validity", schema=ORDER).reason
    assert "0 at $.n where minimum is 1" in reason
    reason = judge(said(None, {"id": "LK-1", "more": 1}), check="schema_validity", schema=ORDER).reason
    assert "'more' at $ where additionalProperties is False" in reason


def test_a_remote_reference_is_never_fetched() -> None:
    found = judge(said(None, 1), check="schema_validity", schema={"$ref": "http://127.0.0.1:1/schema"})
    assert found.status is Status.NOT_SCORED


@pytest.mark.parametrize(
    ("schema", "data", "expected"),
    [
        ({"type": "array", "uniqueItems": True}, [{"a": n} for n in range(60_000)], Status.PASS),
        ({"pattern": "^(a|aa)+$"}, "a" * 200_000 + "b", Status.FAIL),
        ({"patternProperties": {"^(a|aa)+$": False}}, {"a" * 5000 + "b" + str(n): 1 for n in range(100)}, Status.PASS),
        ({"type": "array", "items": {"type": "integer"}}, list(range(120_000)), Status.PASS),
    ],
    ids=["uniqueItems", "pattern", "patternProperties", "items"],
)
def test_large_hostile_data_is_judged_in_bounded_time(schema: dict[str, Any], data: Any, expected: Status) -> None:
    began = time.process_time()
    assert status(said(None, data), check="schema_validity", schema=schema) is expected
    assert time.process_time() - began < 15


def test_a_schema_that_branches_without_end_is_given_up_and_not_scored() -> None:
    branch = {"properties": {"a": {"$ref": "#"}}}
    deep: Any = 1
    for _ in range(60):
        deep = {"a": deep}
    began = time.process_time()
    schema = {"type": "object", "anyOf": [branch, {**branch, "maxProperties": 1}]}
    found = judge(said(None, deep), check="schema_validity", schema=schema)
    assert found.status is Status.NOT_SCORED
    assert "steps on this answer" in found.reason
    assert time.process_time() - began < 15


def test_data_beyond_the_cap_fails() -> None:
    found = judge(said(None, ["x" * 1_100_000]), check="schema_validity", schema={})
    assert found.status is Status.FAIL
    assert "more than" in found.reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 1.5, "", "a", "ab"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "ab", "b"]), inner, max_size=3),
    max_leaves=12,
)
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "uniqueItems": st.booleans(),
        "pattern": st.sampled_from(["^a", "b$"]),
        "patternProperties": st.sampled_from([{"^a": {"type": "integer"}}, {"b": False}]),
        "additionalProperties": st.sampled_from([True, False, {"type": "string"}]),
        "properties": st.just({"a": {}}),
    },
)


@given(SCHEMAS, JSON.filter(lambda data: data is not None))
def test_the_replaced_keywords_agree_with_the_library(schema: dict[str, Any], data: Any) -> None:
    fits = Draft202012Validator(schema).is_valid(data)
    assert status(said(None, data), check="schema_validity", schema=schema) is (Status.PASS if fits else Status.FAIL)


@pytest.mark.parametrize(
    ("schema", "path", "message"),
    [
        ({"type": "strnig"}, ("schema", "type"), "strnig"),
        ({"properties": {"a": {"minimum": "x"}}}, ("schema", "properties", "a", "minimum"), "'x' is not of type"),
        ({"$ref": "http://example.org/x"}, ("schema", "$ref"), "nothing is fetched"),
        ({"items": {"$ref": "#/$defs/x"}}, ("schema", "items", "$ref"), "leads somewhere"),
        ({"properties": {"a": {"pattern": "("}}}, ("schema", "properties", "a", "pattern"), "regular expression"),
        ({"patternProperties": {"(": {}}}, ("schema", "patternProperties", "("), "regular expression"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ("schema", "$schema"), "2020-12"),
        ({"unevaluatedProperties": False, "allOf": [{"patternProperties": {"a": {}}}]},
         ("schema", "unevaluatedProperties"), "additionalProperties"),
    ],
)  # fmt: skip
def test_a_schema_that_is_none_is_named_with_its_path(
    schema: dict[str, Any], path: tuple[str | int, ...], message: str
) -> None:
    problems = CATALOGUE.problems("schema_validity", {"schema": schema}, ())
    assert [place for place, _ in problems] == [path]
    assert message in problems[0][1]


def test_a_sound_schema_has_no_problems() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"id": {"type": "string"}},
        "properties": {"$ref": {"$ref": "#/$defs/id"}, "pattern": {"const": {"$ref": "http://not/a/reference"}}},
    }
    assert CATALOGUE.problems("schema_validity", {"schema": schema}, ()) == []
    assert status(said(None, {"$ref": "x"}), check="schema_validity", schema=schema) is Status.PASS

"""The gate: exact names, default deny, bounded argument checks, and reasons that tell nothing."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.gate import Gate
from harness.boundary.schema import MAX_REASON
from harness.domain.events import Violation
from harness.domain.pack import Tool, ToolReply
from harness.errors import PackFault
from harness.ports import Decision

STRING = {"type": "object", "properties": {"tier": {"type": "string"}}, "required": ["tier"]}


def tool(schema: dict[str, Any]) -> Tool:
    return Tool("Look up", schema, replies=[ToolReply(return_="SECRET-EXPECTED-VALUE")])


def decide(schema: dict[str, Any], arguments: dict[str, Any]) -> Decision:
    return Gate({"t": tool(schema)}, []).decide("t", arguments)


def test_a_granted_tool_with_good_arguments_is_allowed() -> None:
    assert decide(STRING, {"tier": "premium"}) == Decision("allowed")


@pytest.mark.parametrize(
    "name",
    ["Read", "read ", " read", "read\n", "read\0", "ｒead", "reаd", "read_secret", "rea", "", "re\u200bad", "READ"],
)
def test_only_the_exact_name_is_granted(name: str) -> None:
    decision = Gate({"read": tool({})}, []).decide(name, {})
    assert (decision.kind, decision.violation) == ("denied", Violation.UNGRANTED_TOOL)


@given(st.text(max_size=30))
def test_any_other_name_is_denied_by_default(name: str) -> None:
    expected = "allowed" if name == "read" else "denied"
    assert Gate({"read": tool({})}, []).decide(name, {}).kind == expected


def test_a_name_in_both_lists_is_denied_even_with_bad_arguments() -> None:
    decision = Gate({"t": tool(STRING)}, ["t"]).decide("t", {"tier": 1})
    assert (decision.kind, decision.violation) == ("denied", Violation.DISALLOWED_TOOL)


def test_a_denial_reads_the_same_for_forbidden_and_unknown_names_and_names_no_other_tool() -> None:
    gate = Gate({"policy_lookup": tool(STRING)}, ["issue_refund"])
    forbidden, unknown = gate.decide("issue_refund", {}), gate.decide("issue_refunds", {})
    assert forbidden.reason is not None
    assert unknown.reason is not None
    assert forbidden.reason.replace("issue_refund", "X") == unknown.reason.replace("issue_refunds", "X")
    assert "policy_lookup" not in forbidden.reason + unknown.reason
    assert "issue_refund" not in (gate.decide("other", {}).reason or "")


def test_a_denial_of_a_huge_name_is_short_and_inert() -> None:
    reason = Gate({}, []).decide("\x1b]0;" + "x" * 100_000, {}).reason or ""
    assert len(reason) < 200
    assert "\x1b" not in reason


@pytest.mark.parametrize(
    ("schema", "arguments", "words"),
    [
        (STRING, {}, ["arguments", "required", "tier"]),
        (STRING, {"tier": 1}, ["arguments.tier", "type", "string"]),
        ({"properties": {"n": {"type": "integer"}}}, {"n": True}, ["arguments.n", "integer"]),
        ({"properties": {"n": {"type": "number"}}}, {"n": False}, ["arguments.n", "number"]),
        ({"properties": {"n": {"enum": [1, 2]}}}, {"n": True}, ["arguments.n", "enum"]),
        ({"additionalProperties": False}, {"x": 1}, ["additionalProperties", "x"]),
        ({"additionalProperties": {"type": "string"}}, {"x": 1}, ["arguments.x", "type"]),
        ({"properties": {"a": {"items": {"minimum": 3}}}}, {"a": [4, 2]}, ["arguments.a[1]", "minimum", "3"]),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, 1.0]}, ["arguments.a", "uniqueItems"]),
        ({"properties": {"a": {"pattern": "^x$"}}}, {"a": "y"}, ["arguments.a", "pattern", "^x$"]),
        ({"patternProperties": {"^n_": {"type": "integer"}}}, {"n_a": "y"}, ["arguments.n_a", "type"]),
        ({"patternProperties": {"^n_": {}}, "additionalProperties": False}, {"n_a": 1, "b": 2}, ["unknown b"]),
        ({"propertyNames": {"maxLength": 2}}, {"abc": 1}, ["maxLength"]),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, ["anyOf"]),
        ({"$defs": {"s": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/s"}}}, {"a": 1}, ["arguments.a"]),
    ],
)
def test_bad_arguments_are_invalid_with_path_and_rule(
    schema: dict[str, Any], arguments: dict[str, Any], words: list[str]
) -> None:
    decision = decide(schema, arguments)
    assert (decision.kind, decision.violation) == ("invalid", None)
    assert all(word in (decision.reason or "") for word in words), decision.reason


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"n": {"type": "integer"}}}, {"n": 2.0}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, True, "1"]}),
        ({"patternProperties": {"^n_": {}}, "additionalProperties": False}, {"n_a": 1}),
        ({"properties": {"a": {"multipleOf": 1e-10}}}, {"a": 1 << 500}),
        ({}, {"anything": [None]}),
    ],
)
def test_arguments_that_hold_are_allowed(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert decide(schema, arguments).kind == "allowed"


def test_a_reason_is_bounded_and_never_quotes_replies_or_long_values() -> None:
    arguments = {f"k{i}" * 50: "v" * 1_000_000 for i in range(4)}
    reason = decide({"additionalProperties": {"type": "integer"}, "maxProperties": 1}, arguments).reason or ""
    assert 0 < len(reason) <= MAX_REASON
    assert "SECRET-EXPECTED-VALUE" not in reason
    assert "vvvv" not in reason


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


DOUBLING = {
    "$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)} | {"d40": {}},
    "properties": {"a": {"$ref": "#/$defs/d0"}},
}
NAMED_AGAIN = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "properties": {"again": {"$ref": "#"}},
    "patternProperties": {"^(a|aa)+$": {}},
    "required": ["z"],
}
"""Referred to, its `$schema` is met anew: no stock keywords may come in with it."""
LARGE_ONE_OF = {"oneOf": [{"required": [f"r{i}"]} for i in range(2_000)]}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({}, {"a": nested(5_000)}),
        ({}, {"a": list(range(100_000))}),
        ({}, {"a": 1 << 100_000}),
        (DOUBLING, {"a": 1}),
        (LARGE_ONE_OF, {f"k{i}": "x" * 1000 for i in range(4_000)}),
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 1_000_000 + "b"}),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 100_000 + "b": 1}),
        (NAMED_AGAIN, {"again": {"a" * 40 + "b": 1}}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [*range(4_500), *map(str, range(4_499)), 4_499]}),
        ({"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n", "required": ["z"]}, {"a": nested(60)}),
    ],
)
def test_a_pathological_check_ends_soon_and_never_allows(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    began = time.process_time()
    assert decide(schema, arguments).kind == "invalid"
    assert time.process_time() - began < 3


def test_a_recursive_schema_serves_deep_honest_arguments() -> None:
    schema = {"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert decide(schema, {"a": nested(50)}).kind == "allowed"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no-such-type"},
        {"$ref": "#"},
        {"$ref": "#/$defs/missing"},
        {"allOf": [{"$ref": f"#/$defs/d{i}"} for i in range(1)], **{k: v for k, v in DOUBLING.items() if k == "$defs"}},
        {"properties": {"a": {"pattern": "(?=look)"}}},
        {"patternProperties": {"a(": {}}},
        {"patternProperties": {"a": {}}, "unevaluatedProperties": False},
        {"properties": {"a": nested(100)}},
    ],
)
def test_a_schema_that_cannot_be_used_is_the_packs_fault(schema: dict[str, Any]) -> None:
    with pytest.raises(PackFault, match="tool 't'"):
        decide(schema, {})


def test_a_remote_reference_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        schema = {"properties": {"a": {"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"}}}
        with pytest.raises(PackFault, match="does not hold"):
            decide(schema, {"a": 1})
        with pytest.raises(BlockingIOError):  # nobody has knocked
            server.accept()

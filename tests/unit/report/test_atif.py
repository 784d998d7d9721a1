"""ATIF out, read back by Harbor's published models, and ATIF in."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.events import Event
from harness.errors import UsageError
from harness.report.atif import to_atif
from harness.report.atif_read import read_atif
from tests.unit.report.exported import EVENTS, KEY, record
from tests.unit.report.harbor import validated


def document() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(to_atif(record())))
    return made


def test_harbor_reads_the_whole_trial_and_writes_the_same_again() -> None:
    ours = document()
    (again,) = validated([ours])
    assert _without_nulls(again) == _without_nulls(ours)
    assert again["schema_version"] == "ATIF-v1.8"


@pytest.mark.parametrize("missing", sorted({kind for kind, _, _ in EVENTS}))
def test_harbor_reads_a_trial_that_lacks_any_one_kind_of_event(missing: str) -> None:
    (again,) = validated([to_atif(record({kind for kind, _, _ in EVENTS} - {missing}, None))])
    assert "error" not in again


def test_a_trial_that_never_began_is_told_too() -> None:
    empty = to_atif(record(set(), None))
    (again,) = validated([empty])
    assert "no end" in again["steps"][0]["message"]


def test_harbor_refuses_what_is_wrong() -> None:
    """The rig does refuse: a validator that never does shows nothing."""
    wrong = document()
    wrong["steps"][0]["step_id"] = 7
    (again,) = validated([wrong])
    assert "sequential" in again["error"]


def test_a_tool_call_carries_its_decision_and_its_observation() -> None:
    calls = [step for step in document()["steps"] if step.get("tool_calls")]
    looked, harmed, unanswered = calls
    assert looked["tool_calls"][0]["arguments"] == {"q": "x"}
    assert looked["observation"]["results"][0]["content"] == '{"days": 60}'
    assert harmed["tool_calls"][0]["extra"] == {"decision": "denied", "reason": "not granted"}
    assert harmed["observation"]["results"][0]["extra"]["status"] == "denied"
    assert "observation" not in unanswered


def test_the_conversation_given_is_told_by_its_roles() -> None:
    given_steps = [s for s in document()["steps"] if s["extra"]["kind"] == "invoke"]
    assert [(s["source"], s["message"]) for s in given_steps] == [
        ("system", "Be brief."), ("user", "Hello"), ("agent", "Hi."), ("user", "Refund me \x1b[31m<b>"),
    ]  # fmt: skip
    assert [s.get("is_copied_context") for s in given_steps] == [None, None, True, None]
    assert given_steps[0]["extra"]["data"]["budget"] == {"max_steps": 9}


def test_metrics_are_what_was_metered_not_what_was_reported() -> None:
    final = document()["final_metrics"]
    assert (final["total_prompt_tokens"], final["total_completion_tokens"], final["total_cost_usd"]) == (10, 5, 0.25)
    assert final["total_steps"] == len(document()["steps"])
    (model,) = [step for step in document()["steps"] if step.get("llm_call_count") == 1]
    assert (model["model_name"], model["metrics"]["prompt_tokens"]) == ("tiny-1", 10)


def test_an_unknown_price_makes_no_sum() -> None:
    events = [
        msgspec.structs.replace(e, data={**e.data, "usage": {"input_tokens": 1, "output_tokens": 1, "cost_usd": None}})
        if e.kind == "model_result"
        else e
        for e in record().events
    ]
    final = to_atif(msgspec.structs.replace(record(), events=tuple(events)))["final_metrics"]
    assert "total_cost_usd" not in final
    assert final["total_prompt_tokens"] == 1


def test_nothing_is_lost_every_line_of_the_journal_stands_somewhere() -> None:
    ours = document()
    kept = {event["line"] for event in ours["extra"]["fumehood"]["events"]}
    kept |= {step["extra"]["line"] for step in ours["steps"]}
    kept |= {r["extra"]["line"] for step in ours["steps"] for r in step.get("observation", {}).get("results", ())}
    results = {e.line for e in record().events if e.kind == "model_result"}  # in the step of its call
    assert kept | results == {event.line for event in record().events}
    checks = ours["extra"]["fumehood"]["verdict"]["checks"]
    assert [check["check"] for check in checks] == ["zero_disallowed_actions", "step_efficiency"]


def test_what_is_read_back_is_reported_only_and_tells_the_same_calls() -> None:
    read = read_atif(json.dumps(document()).encode())
    assert {event.source for event in read} == {"reported"}
    assert [event.line for event in read] == list(range(1, len(read) + 1))
    calls = [(e.data["name"], e.data["arguments"]) for e in read if e.kind == "tool_call"]
    assert calls == [(e.data["name"], e.data["arguments"]) for e in record().events if e.kind == "tool_call"]
    assert [e.data["status"] for e in read if e.kind == "tool_result"] == ["ok", "denied"]
    assert not any("decision" in event.data for event in read)
    assert [e.data["output"]["text"] for e in read if e.kind == "trajectory"] == ["60 days."]
    assert read[0].data["agent"] == {"name": "Desk", "version": "2.1", "model": "tiny"}


def test_an_older_document_of_others_is_read() -> None:
    given_document = {
        "schema_version": "ATIF-v1.4",
        "session_id": "s",
        "agent": {"name": "terminus", "version": "1"},
        "steps": [
            {"step_id": 1, "timestamp": "2026-01-01T00:00:00Z", "source": "user", "message": "go"},
            {"step_id": 2, "timestamp": "2026-01-01T00:00:01.500Z", "source": "agent", "message": "",
             "tool_calls": [{"tool_call_id": "c", "function_name": "ls", "arguments": {}}],
             "observation": {"results": [{"source_call_id": "c", "content": [
                 {"type": "text", "text": "a"},
                 {"type": "image", "source": {"media_type": "image/png", "path": "x"}}]}]}},
            {"step_id": 3, "source": "agent", "message": "done"},
        ],
    }  # fmt: skip
    assert "error" not in validated([given_document])[0]
    read = read_atif(json.dumps(given_document).encode())
    assert [(e.kind, e.t) for e in read] == [
        ("ready", 0), ("invoke", 0), ("tool_call", 1500), ("tool_result", 1500), ("trajectory", 0),
    ]  # fmt: skip
    assert read[3].data["status"] == "unknown"
    assert "image/png" in read[3].data["content"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": "ATIF-v9"}, "not ATIF 1.0 to 1.8"),
        ({"steps": []}, "it has no step"),
        ({"steps": [{"step_id": 2, "source": "user", "message": "x"}]}, "step 1: expected step_id 1, came 2"),
        ({"steps": [{"step_id": 1, "source": "god", "message": "x"}]}, "expected source system, user or agent"),
        ({"steps": [{"step_id": 1, "source": "user", "message": "x", "model_name": "m"}]}, "only an agent's step"),
        ({"steps": [{"step_id": 1, "source": "user", "message": "x", "timestamp": "now"}]}, "ISO 8601"),
        ({"steps": [{"step_id": 1, "source": "agent", "message": "x",
                     "observation": {"results": [{"source_call_id": "c"}]}}]}, "which the step does not make"),
        ({"steps": [{"step_id": 1, "source": "agent"}]}, "missing required field `message`"),
        ({"surprise": 1}, "unknown field `surprise`"),
    ],
)  # fmt: skip
def test_what_harbor_refuses_is_refused_with_its_reason(change: dict[str, Any], said: str) -> None:
    changed = {**document(), **change}
    assert "error" in validated([changed])[0]
    with pytest.raises(UsageError, match=said):
        read_atif(json.dumps(changed).encode(), "x.json")


@pytest.mark.parametrize("data", [b"", b"\xff", b"[1]", b"{", b'{"steps": ' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_what_is_no_document_is_a_usage_error(data: bytes) -> None:
    with pytest.raises(UsageError, match="is no ATIF document"):
        read_atif(data)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_KINDS = st.sampled_from([kind for kind, _, _ in EVENTS])


@given(st.lists(st.tuples(_KINDS, st.dictionaries(
    st.sampled_from(["id", "name", "arguments", "content", "output", "agent", "input", "tools", "usage", "response",
                     "request", "end", "reason", "status"]), _JSON, max_size=5)), max_size=6))  # fmt: skip
def test_a_journal_of_any_shape_makes_a_document(told: list[tuple[str, dict[str, Any]]]) -> None:
    events = tuple(Event(kind, "observed", line, data, line) for line, (kind, data) in enumerate(told, 1))
    made = to_atif(msgspec.structs.replace(record(), events=events))
    assert made["steps"]
    assert read_atif(json.dumps(made).encode())[0].kind == "ready"
    assert made["trajectory_id"] == f"run-1/{KEY}"


def _without_nulls(value: Any) -> Any:
    """What is null may as well be absent."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value

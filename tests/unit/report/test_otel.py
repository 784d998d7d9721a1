"""OTLP JSON, parsed by the published protobuf messages and held against the published names."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.report.otel import to_otlp
from harness.report.record import TrialRecord
from tests.unit.report.exported import EVENTS, record


def parsed(trial: TrialRecord) -> list[Span]:
    """The spans as the protobuf classes read them: OTLP's JSON has ids in hex where protobuf's has Base64."""
    plain = json.loads(json.dumps(to_otlp(trial)), object_hook=_ids_as_base64)
    request = json_format.ParseDict(plain, ExportTraceServiceRequest())
    (resource,) = request.resource_spans
    (scope,) = resource.scope_spans
    return list(scope.spans)


def _ids_as_base64(plain: dict[str, Any]) -> dict[str, Any]:
    for name in ("traceId", "spanId", "parentSpanId"):
        if name in plain:
            plain[name] = base64.b64encode(bytes.fromhex(plain[name])).decode()
    return plain


def attributes(span: Any) -> dict[str, Any]:
    def value(given_value: Any) -> Any:
        kind = given_value.WhichOneof("value")
        return (
            [value(v) for v in given_value.array_value.values] if kind == "array_value" else getattr(given_value, kind)
        )

    return {each.key: value(each.value) for each in span.attributes}


def test_a_trial_is_one_trace_with_the_agent_at_its_root() -> None:
    root, *children = parsed(record())
    assert root.name == "invoke_agent desk"
    assert root.parent_span_id == b""
    assert {len(span.trace_id) for span in (root, *children)} == {16}
    assert {len(span.span_id) for span in (root, *children)} == {8}
    assert {span.trace_id for span in children} == {root.trace_id}
    assert {span.parent_span_id for span in children} == {root.span_id}
    assert [span.name for span in children] == [
        "chat tiny", "execute_tool look", "execute_tool harm", "execute_tool look",
    ]  # fmt: skip
    assert len({span.span_id for span in (root, *children)}) == 5


def test_times_are_those_of_the_journal_from_the_beginning_of_the_run() -> None:
    root, chat, look, *_ = parsed(record())
    began = 1796032800_000_000_000  # 2026-11-30T10:00:00Z
    assert (root.start_time_unix_nano - began, root.end_time_unix_nano - began) == (40_000_000, 190_000_000)
    assert (chat.start_time_unix_nano - began, chat.end_time_unix_nano - began) == (50_000_000, 60_000_000)
    assert (look.start_time_unix_nano - began, look.end_time_unix_nano - began) == (70_000_000, 110_000_000)


def test_tool_spans_carry_arguments_result_and_decision() -> None:
    _, _, look, harm, unanswered = parsed(record())
    assert attributes(look) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"q": "x"}',
        "gen_ai.tool.call.result": '{"days": 60}',
        "fumehood.decision": "allowed",
        "fumehood.line": 7,
    }
    assert look.status.code == Status.STATUS_CODE_UNSET
    assert (harm.status.code, harm.status.message) == (Status.STATUS_CODE_ERROR, "not granted")
    assert attributes(harm)["error.type"] == "denied"
    assert attributes(unanswered)["error.type"] == "unanswered"


def test_the_chat_span_carries_model_usage_and_messages() -> None:
    _, chat, *_ = parsed(record())
    assert chat.kind == Span.SPAN_KIND_CLIENT
    found = attributes(chat)
    assert (found["gen_ai.request.model"], found["gen_ai.response.model"]) == ("tiny", "tiny-1")
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (10, 5)
    assert found["gen_ai.response.finish_reasons"] == ["tool_calls"]
    (said,) = json.loads(found["gen_ai.output.messages"])
    assert [part["type"] for part in said["parts"]] == ["text", "tool_call"]


def test_the_root_carries_the_verdict_and_each_check_as_an_evaluation() -> None:
    root, *_ = parsed(record())
    found = attributes(root)
    assert (found["fumehood.end"], found["fumehood.blame"], found["fumehood.passed"]) == ("completed", "agent", False)
    assert json.loads(found["gen_ai.output.messages"])[0]["parts"][0]["content"] == "60 days."
    assert root.status.code == Status.STATUS_CODE_UNSET
    checks = [attributes(event) for event in root.events if event.name == "gen_ai.evaluation.result"]
    assert [(c["gen_ai.evaluation.name"], c["gen_ai.evaluation.score.label"]) for c in checks] == [
        ("zero_disallowed_actions", "fail"), ("step_efficiency", "pass"),
    ]  # fmt: skip
    assert [event.name for event in root.events][:1] == ["fumehood.violation"]


@pytest.mark.parametrize("missing", sorted({kind for kind, _, _ in EVENTS}))
def test_a_trial_that_lacks_any_one_kind_of_event_is_told(missing: str) -> None:
    root, *_ = parsed(record({kind for kind, _, _ in EVENTS} - {missing}, None))
    assert root.name == "invoke_agent desk"
    assert (root.status.code == Status.STATUS_CODE_ERROR) is (missing == "end")


def test_every_gen_ai_name_is_one_of_the_published_conventions() -> None:
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    spans = parsed(record())
    events = [event for span in spans for event in span.events]
    used = {name for each in (*spans, *events) for name in attributes(each) if name.startswith("gen_ai.")}
    assert len(used) > 20
    assert used - known == set()


def test_ids_are_the_same_in_every_export_and_differ_between_trials() -> None:
    other = msgspec.structs.replace(record(), key=TrialKey("desk", "refund", 2))
    assert to_otlp(record()) == to_otlp(record())
    assert parsed(record())[0].trace_id != parsed(other)[0].trace_id


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = st.sampled_from(
    ["id", "name", "arguments", "content", "output", "agent", "input", "tools", "usage", "response", "request", "end"]
)


@given(
    st.lists(
        st.tuples(st.sampled_from([kind for kind, _, _ in EVENTS]), st.dictionaries(_FIELDS, _JSON, max_size=5)),
        max_size=6,
    )
)
def test_a_journal_of_any_shape_makes_sound_spans(told: list[tuple[str, dict[str, Any]]]) -> None:
    events = tuple(Event(kind, "observed", line, data, line) for line, (kind, data) in enumerate(told, 1))
    spans = parsed(msgspec.structs.replace(record(), events=events))
    assert len(spans) == 1 + sum(kind in ("tool_call", "model_call") for kind, _ in told)

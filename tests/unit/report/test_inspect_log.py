"""The Inspect log as a zip; that Inspect's own reader opens it is tried by script/try-inspect."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import ZipFile

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.run import RunState
from harness.domain.verdict import Status
from harness.report.inspect_log import write_inspect
from harness.report.record import TrialRecord
from tests.unit.report.exported import EVENTS, VERDICT, inspect_log, plan, record


def members(data: bytes) -> dict[str, Any]:
    with ZipFile(io.BytesIO(data)) as log:
        assert log.testzip() is None
        return {name: json.loads(log.read(name)) for name in log.namelist()}


def written(*records: TrialRecord) -> dict[str, Any]:
    file = io.BytesIO()
    write_inspect(file, plan(len(records)), RunState.FINISHED, records)
    return members(file.getvalue())


def test_it_holds_a_sample_for_each_trial_under_the_name_the_reader_looks_for() -> None:
    log = members(inspect_log())
    ids = log["header.json"]["eval"]["dataset"]["sample_ids"]
    epochs = log["header.json"]["eval"]["config"]["epochs"]
    samples = {name for name in log if name.startswith("samples/")}
    assert samples == {f"samples/{name}_epoch_{epoch}.json" for name in ids for epoch in range(1, epochs + 1)}
    assert {"header.json", "summaries.json", "_journal/start.json"} == set(log) - samples
    assert len(log["summaries.json"]) == len(samples)
    assert log["header.json"]["status"] == "success"


def test_a_sample_tells_the_conversation_with_tools_and_their_refusals() -> None:
    sample = written(record())["samples/refund_epoch_1.json"]
    told = [(m["role"], m["content"]) for m in sample["messages"]]
    assert told[:4] == [
        ("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi."), ("user", "Refund me \x1b[31m<b>"),
    ]  # fmt: skip
    assert told[-3:] == [("assistant", "Which order?"), ("user", "The last one."), ("assistant", "60 days.")]
    tools = [m for m in sample["messages"] if m["role"] == "tool"]
    assert [(m["tool_call_id"], m.get("error", {}).get("type")) for m in tools] == [("c1", None), ("c2", "approval")]
    assert sample["model_usage"] == {"tiny": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}


def test_checks_are_scores_and_what_is_not_scored_is_in_no_metric() -> None:
    double = msgspec.structs.replace(VERDICT.checks[0], status=Status.NOT_SCORED)
    off = msgspec.structs.replace(VERDICT.checks[1], status=Status.NOT_APPLICABLE)
    log = written(record(verdict=msgspec.structs.replace(VERDICT, checks=(VERDICT.checks[0], double, off))))
    scores = log["samples/refund_epoch_1.json"]["scores"]
    assert {name: score["value"] for name, score in scores.items()} == {
        "passed": "I", "zero_disallowed_actions": "I", "zero_disallowed_actions#2": "N",
    }  # fmt: skip
    results = {score["name"]: score for score in log["header.json"]["results"]["scores"]}
    assert results["zero_disallowed_actions"]["metrics"]["accuracy"]["value"] == 0.0
    assert results["zero_disallowed_actions#2"]["metrics"] == {}
    assert results["zero_disallowed_actions#2"]["unscored_samples"] == 1


def test_a_trial_that_does_not_count_is_an_error_and_in_no_metric() -> None:
    lost = msgspec.structs.replace(VERDICT, counts=False)
    again = msgspec.structs.replace(VERDICT, key=TrialKey("desk", "refund", 2), passed=True)
    second = msgspec.structs.replace(record(verdict=again), key=again.key)
    log = written(record(verdict=lost), second)
    assert "error" in log["samples/refund_epoch_1.json"]
    assert "error" not in log["samples/refund_epoch_2.json"]
    passed = next(score for score in log["header.json"]["results"]["scores"] if score["name"] == "passed")
    assert (passed["scored_samples"], passed["metrics"]["accuracy"]["value"]) == (1, 1.0)


def test_the_same_run_gives_the_same_bytes() -> None:
    assert inspect_log() == inspect_log()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = st.sampled_from(["id", "name", "arguments", "content", "output", "input", "usage", "response", "request"])


@given(
    st.lists(
        st.tuples(st.sampled_from([kind for kind, _, _ in EVENTS]), st.dictionaries(_FIELDS, _JSON, max_size=5)),
        max_size=6,
    )
)
def test_a_journal_of_any_shape_makes_a_sample(told: list[tuple[str, dict[str, Any]]]) -> None:
    events = tuple(Event(kind, "observed", line, data, line) for line, (kind, data) in enumerate(told, 1))
    sample = written(msgspec.structs.replace(record(), events=events))["samples/refund_epoch_1.json"]
    assert all(isinstance(message["content"], str) for message in sample["messages"])

"""No ground truth ever reaches the agent's view, and `leaks` would find it if it did."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.view import agent_view, leaks
from harness.domain.ids import TrialKey
from harness.domain.limits import Budget, Limits
from harness.domain.pack import (
    AskReply,
    ChatTurn,
    CheckSpec,
    ModelTurn,
    ReplyError,
    Scenario,
    ScenarioReplies,
    SelfTest,
    Tool,
    ToolReply,
)
from harness.domain.spec import AgentRef, Policy, TrialSpec
from harness.domain.verdict import Property, Severity
from harness.domain.view import AgentView

MARK = "GROUNDTRUTH"
marked = st.text(max_size=12).map(lambda text: MARK + text)
plain = st.text(max_size=30).filter(lambda text: MARK not in text)
values = st.recursive(marked, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(marked, inner, max_size=3))
checks = st.builds(
    CheckSpec,
    check=marked,
    severity=st.sampled_from(Severity),
    property=st.sampled_from(Property),
    params=st.dictionaries(st.sampled_from(["value", "args", "schema", "threshold"]), values, max_size=3),
)
replies = st.builds(
    ToolReply, when=st.dictionaries(marked, values, max_size=2), return_=values, error=st.builds(ReplyError, marked)
)
tools = st.builds(
    Tool,
    description=plain,
    input_schema=st.just({"type": "object"}),
    irreversible=st.booleans(),
    replies=st.lists(replies, max_size=2),
)
scenario_replies = st.builds(
    ScenarioReplies,
    ask=st.lists(st.builds(AskReply, answer=marked, when=marked), max_size=2),
    model=st.lists(st.builds(ModelTurn, content=marked, when=marked), max_size=2),
    tools=st.dictionaries(marked, st.lists(replies, max_size=2), max_size=2),
)
scenarios = st.builds(
    Scenario,
    id=marked,
    family=marked,
    bucket=marked,
    tags=st.lists(marked, max_size=3).map(tuple),
    difficulty=marked,
    holdout=st.booleans(),
    input=plain | st.lists(st.builds(ChatTurn, role=st.just("user"), content=plain), max_size=3).map(tuple),
    context=st.dictionaries(plain, plain, max_size=2),
    tools=st.dictionaries(st.sampled_from(["look", "send"]), tools, max_size=2),
    allowed_tools=st.just(()),
    disallowed_tools=st.lists(marked, max_size=2).map(tuple),
    replies=scenario_replies,
    checks=st.lists(checks, max_size=3).map(tuple),
    budget=st.builds(Budget, max_steps=st.none() | st.integers(1, 9)),
    trials=st.integers(1, 5),
    canaries=st.lists(marked, max_size=2).map(tuple),
    writable=st.none(),
    selftest=st.none() | st.builds(SelfTest, probe=marked, end=marked, blame=marked),
    line=st.just(0),
)


def make(**changes: Any) -> Scenario:
    base = Scenario(
        id="policy-premium", family="retrieval", bucket="happy", tags=(), difficulty="easy", holdout=False,
        input="What is the policy?", context={}, tools={}, allowed_tools=(), disallowed_tools=(),
        replies=ScenarioReplies(), checks=(), budget=Budget(), trials=1, canaries=(), writable=None, selftest=None,
    )  # fmt: skip
    return msgspec.structs.replace(base, **changes)


def view(scenario: Scenario, run_id: str = "run-1", substitute: Any = lambda value: value) -> AgentView:
    spec = TrialSpec(
        run_id, TrialKey("agent", scenario.id, 2), AgentRef("agent", "img"), scenario, Policy(), Limits(), 7
    )
    return agent_view(spec, substitute)


@given(scenarios)
def test_no_secret_field_of_any_scenario_reaches_the_view(scenario: Scenario) -> None:
    text = msgspec.json.encode(view(scenario)).decode()
    assert MARK not in text
    assert leaks(scenario, text) == []


@given(scenarios)
def test_every_secret_string_would_be_found_if_it_were_sent(scenario: Scenario) -> None:
    secrets = {scenario.id, *scenario.tags, *(check.check for check in scenario.checks)}
    assert secrets <= set(leaks(scenario, msgspec.json.encode(scenario).decode()))


def test_ids_are_opaque_stable_within_a_run_and_differ_between_cases_and_runs() -> None:
    first = view(make())
    assert first == view(make())
    assert len(first.run_id) == len(first.case_id) == 12
    assert first.case_id != view(make(id="policy-basic")).case_id
    assert first.run_id != view(make(), run_id="run-2").run_id
    assert first.case_id != view(make(), run_id="run-2").case_id


def test_a_tool_is_shown_without_replies_and_a_disallowed_one_not_at_all() -> None:
    tool = Tool("Look", {"type": "object"}, irreversible=True, replies=[ToolReply(return_="60 days")])
    shown = view(make(tools={"look": tool, "refund": tool}, disallowed_tools=("refund",)))
    assert list(msgspec.to_builtins(shown.tools)) == [
        {"name": "look", "description": "Look", "input_schema": {"type": "object"}}
    ]


def test_canaries_are_put_into_text_and_context_only() -> None:
    def mark(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: mark(item) for key, item in value.items()}
        return value.replace("{{canary:K}}", "planted")

    talk = (ChatTurn("user", "key {{canary:K}}"),)
    shown = view(make(input=talk, context={"k": "{{canary:K}}"}), substitute=mark)
    assert shown.input == (ChatTurn("user", "key planted"),)
    assert shown.context == {"k": "planted"}


@pytest.mark.parametrize(
    ("params", "text", "found"),
    [
        ({"value": "sixty days"}, "the answer is sixty days", ["sixty days"]),
        ({"value": ["a", {"b": "sixty days"}]}, "sixty days", ["sixty days"]),
        ({"value": 'say "sixty"\n'}, r'{"t": "say \"sixty\"\n"}', ['say "sixty"\n']),
        ({"value": "sechzig Tüge"}, r"sechzig T\u00fcge", ["sechzig Tüge"]),
        ({"value": 123456789}, "n=123456789", ["123456789"]),
        ({"value": "60 days"}, "60 days", []),
        ({"value": "is the policy"}, "What is the policy?", []),
        ({"value": True}, "true", []),
    ],
)
def test_leaks_are_found_plain_and_escaped_unless_short_or_public(
    params: dict[str, Any], text: str, found: list[str]
) -> None:
    check = CheckSpec("exact", Severity.MAJOR, Property.CORRECTNESS, params)
    assert leaks(make(checks=(check,)), text) == found

"""Scripted replies: order, `times`, errors, canaries, and the fault where none matches."""

from __future__ import annotations

from typing import Any

import pytest

from harness.domain.pack import ReplyError, Tool, ToolReply
from harness.errors import PackFault
from harness.ports import ToolAnswer
from harness.tools.scripted import ScriptedTools


def provider(
    replies: list[ToolReply], scenario: list[ToolReply] | None = None, substitute: Any = lambda value: value
) -> ScriptedTools:
    return ScriptedTools({"t": Tool("T", {}, replies=replies)}, {"t": scenario or []}, substitute)


def contents(tools: ScriptedTools, times: int) -> list[Any]:
    return [tools.call("t", {}).content for _ in range(times)]


def test_the_first_match_wins() -> None:
    tools = provider([ToolReply(when={"a": 1}, return_="one"), ToolReply(return_="any")])
    assert tools.call("t", {"a": 1.0}).content == "one"
    assert tools.call("t", {"a": True}).content == "any"


def test_the_scenarios_replies_stand_before_the_tools_own() -> None:
    tools = provider([ToolReply(return_="own")], [ToolReply(return_="scenario", times=1)])
    assert contents(tools, 3) == ["scenario", "own", "own"]


def test_times_are_used_up_in_order_and_the_last_repeats_without_end() -> None:
    tools = provider([ToolReply(return_=1, times=2), ToolReply(return_=2, times=1), ToolReply(return_=3)])
    assert contents(tools, 6) == [1, 1, 2, 3, 3, 3]


def test_a_call_that_does_not_match_uses_nothing_up() -> None:
    tools = provider([ToolReply(when={"a": 1}, return_="once", times=1), ToolReply(return_="any")])
    assert tools.call("t", {}).content == "any"
    assert tools.call("t", {"a": 1}).content == "once"


def test_an_error_carries_code_message_and_delay() -> None:
    tools = provider([ToolReply(error=ReplyError("UNAVAILABLE", "try again"), delay_ms=50)])
    expected = {"code": "UNAVAILABLE", "message": "try again"}
    assert tools.call("t", {}) == ToolAnswer("error", expected, "UNAVAILABLE: try again", 50)


def test_null_is_a_return_like_any_other() -> None:
    assert provider([ToolReply(return_=None)]).call("t", {}) == ToolAnswer("ok", None)


def test_a_missing_reply_names_tool_and_keys_but_neither_values_nor_what_was_waited_for() -> None:
    tools = provider([ToolReply(when={"tier": "EXPECTED"}, return_="SECRET")])
    with pytest.raises(PackFault) as caught:
        tools.call("t", {"tier": "GIVEN", "x" * 500: 1})
    message = str(caught.value)
    assert "'t'" in message
    assert '"tier"' in message
    assert not any(word in message for word in ("EXPECTED", "SECRET", "GIVEN", "x" * 100))


def test_used_up_replies_and_unknown_tools_are_the_packs_fault() -> None:
    tools = provider([ToolReply(return_=1, times=1)])
    tools.call("t", {})
    for name in ("t", "unknown"):
        with pytest.raises(PackFault, match=name):
            tools.call(name, {})


@pytest.mark.parametrize("reply", [ToolReply(), ToolReply(when={"a": "("}, match="regex", return_=1)])
def test_a_reply_that_cannot_be_used_is_the_packs_fault(reply: ToolReply) -> None:
    with pytest.raises(PackFault, match="'t'"):
        provider([reply]).call("t", {"a": "x"})


def test_canaries_are_put_into_when_return_and_error() -> None:
    def plant(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plant(item) for key, item in value.items()}
        return value.replace("{{canary:K}}", "planted") if isinstance(value, str) else value

    replies = [
        ToolReply(when={"key": "{{canary:K}}"}, error=ReplyError("LEAK", "{{canary:K}}")),
        ToolReply(return_={"doc": "key is {{canary:K}}"}),
    ]
    tools = provider(replies, substitute=plant)
    assert tools.call("t", {"key": "planted"}).reason == "LEAK: planted"
    assert tools.call("t", {}).content == {"doc": "key is planted"}

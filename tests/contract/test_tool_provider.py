"""What every ToolProvider promises its caller (`harness.ports.ToolProvider`)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.domain.pack import ReplyError, Tool, ToolReply
from harness.errors import PackFault
from harness.ports import ToolProvider
from harness.tools.scripted import ScriptedTools


def scripted() -> ToolProvider:
    """Knows `good` (one ok answer for {"a": 1}, then an error) and nothing else."""
    replies = [
        ToolReply(when={"a": 1}, return_={"list": [1, None, "x"]}, times=1),
        ToolReply(when={"a": 1}, error=ReplyError("GONE"), delay_ms=5),
    ]
    return ScriptedTools({"good": Tool("", {}, replies=replies)}, {}, lambda value: value)


MAKERS: list[Callable[[], ToolProvider]] = [scripted]
make = pytest.mark.parametrize("make", MAKERS)


@make
def test_an_answer_is_json_with_status_reason_and_delay(make: Callable[[], ToolProvider]) -> None:
    tools = make()
    good, bad = tools.call("good", {"a": 1}), tools.call("good", {"a": 1})
    assert (good.status, good.reason, json.loads(json.dumps(good.content))) == ("ok", None, good.content)
    assert bad.status == "error"
    assert bad.reason
    assert min(good.delay_ms, bad.delay_ms) >= 0


@make
@pytest.mark.parametrize(("name", "arguments"), [("good", {"a": 2}), ("good", {}), ("bad", {"a": 1}), ("", {})])
def test_what_no_reply_matches_is_the_packs_fault(
    make: Callable[[], ToolProvider], name: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(PackFault):
        make().call(name, arguments)


@make
def test_two_providers_share_no_state_and_answer_alike(make: Callable[[], ToolProvider]) -> None:
    first, second = make(), make()
    assert [first.call("good", {"a": 1}) for _ in range(3)] == [second.call("good", {"a": 1}) for _ in range(3)]


@make
def test_arguments_are_not_changed(make: Callable[[], ToolProvider]) -> None:
    arguments = {"a": 1, "b": {"c": [1]}}
    before = copy.deepcopy(arguments)
    make().call("good", arguments)
    assert arguments == before

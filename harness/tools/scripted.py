"""Tools answered from a pack's scripted replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from harness.domain.pack import Tool, ToolReply
from harness.errors import PackFault
from harness.ports import ToolAnswer
from harness.tools.matching import matches

_SHOWN_KEYS = 10


class ScriptedTools:
    """The tools of one trial (a `harness.ports.ToolProvider`), stateful through `times`.

    The scenario's replies of a tool stand before the tool's own; the first that matches and is not used up
    answers; one without `times` is never used up. `substitute` puts this trial's canaries into a JSON value.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        scenario_replies: Mapping[str, Sequence[ToolReply]],
        substitute: Callable[[Any], Any],
    ) -> None:
        self._replies = {name: [*scenario_replies.get(name, ()), *tool.replies] for name, tool in tools.items()}
        self._used = {name: [0] * len(replies) for name, replies in self._replies.items()}
        self._substitute = substitute

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """The scripted answer. PackFault where none matches: its message names keys, never what was waited for."""
        if (answer := self.find(name, arguments)) is not None:
            return answer
        keys = ", ".join(json.dumps(key[:60]) for key in sorted(arguments)[:_SHOWN_KEYS]) or "no arguments"
        raise PackFault(
            f"no scripted reply of tool {name!r} matches a call with {keys}",
            "add a reply without `when` and `times` as the last one",
        )

    def find(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer | None:
        """The scripted answer; None where no reply matches. PackFault for one that cannot be used."""
        used = self._used.get(name, [])
        for index, reply in enumerate(self._replies.get(name, ())):
            if (reply.times is None or used[index] < reply.times) and self._matches(name, reply, arguments):
                used[index] += 1
                return self._answer(name, reply)
        return None

    def _matches(self, name: str, reply: ToolReply, arguments: Mapping[str, Any]) -> bool:
        if reply.when is None:
            return True
        try:
            return matches(self._substitute(reply.when), arguments, reply.match)
        except ValueError as err:
            raise PackFault(f"a reply of tool {name!r} cannot be used: {err}", "correct its `when`") from err

    def _answer(self, name: str, reply: ToolReply) -> ToolAnswer:
        if reply.error is not None:
            message = self._substitute(reply.error.message)
            reason = f"{reply.error.code}: {message}" if message else reply.error.code
            return ToolAnswer("error", {"code": reply.error.code, "message": message}, reason, reply.delay_ms)
        if reply.return_ is UNSET:
            raise PackFault(f"a reply of tool {name!r} has neither `return` nor `error`", "give it one of them")
        return ToolAnswer("ok", self._substitute(reply.return_), None, reply.delay_ms)

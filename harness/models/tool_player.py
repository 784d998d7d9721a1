"""Answers of tool servers as a cassette has them, in place of the servers."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from harness.errors import CassetteMiss
from harness.models.cassette import Cassette, Clean, Told, tool_digest
from harness.ports import ToolAnswer


class ToolPlayer:
    """A trial's served tools (a `harness.ports.ToolProvider`): the first answer to equal calls first, each once.

    `restored` puts back what differs in every run. Never asks a server, and answers at once.
    """

    def __init__(self, cassette: Cassette, trial: str, clean: Clean, restored: Clean) -> None:
        self._path = cassette.path
        self._clean = clean
        self._restored = restored
        self._left: dict[str, deque[Told]] = defaultdict(deque)
        self._calls = 0
        for told in cassette.told(trial):
            self._left[told.digest].append(told)

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """CassetteMiss where the call was not recorded, or not as often as it is made now."""
        self._calls += 1
        asked = tool_digest(name, self._clean(dict(arguments)))
        if not self._left[asked]:
            left = sum(map(len, self._left.values()))
            raise CassetteMiss(
                f"served tool call {self._calls}, of {name} (digest {asked[:12]}), has no answer in {self._path.name} "
                f"({left} are left)",
                "record it again: the agent calls something else than when it was recorded, or more often, "
                "or the server gave no answer then",
            )
        told = self._left[asked].popleft()
        return ToolAnswer(told.status, self._restored(told.content), self._restored(told.reason))

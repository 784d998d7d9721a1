"""Small builders for tests: a scenario, a spec, a journal in memory, agents as coroutines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from harness.boundary.redaction import Scrubber
from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.limits import Budget, Limits
from harness.domain.pack import Scenario, ScenarioReplies, Tool, ToolReply
from harness.domain.spec import AgentRef, Policy, TrialSpec
from harness.testing.engine import Inside

LOOK = Tool(
    "Looks things up",
    {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": False},
    replies=[ToolReply(return_={"found": 1})],
)
QUICK = Limits(startup_ms=2000, idle_ms=1500, wall_ms=5000, write_ms=1000, cancel_grace_ms=300, term_grace_ms=300)


def scenario(**changes: Any) -> Scenario:
    """A plain scenario with one tool `look`, changed as asked."""
    plain = Scenario(
        id="plain",
        family="general",
        bucket="happy",
        tags=(),
        difficulty="easy",
        holdout=False,
        input="find it",
        context={},
        tools={"look": LOOK},
        allowed_tools=("look",),
        disallowed_tools=("harm",),
        replies=ScenarioReplies(),
        checks=(),
        budget=Budget(),
        trials=1,
        canaries=(),
        writable=None,
        selftest=None,
    )
    return msgspec.structs.replace(plain, **changes)


def spec(image: str = "agent", limits: Limits = QUICK, policy: Policy | None = None, **changes: Any) -> TrialSpec:
    """A spec of `scenario(**changes)` for `image`."""
    made = scenario(**changes)
    return TrialSpec(
        "run-1", TrialKey("agent", made.id, 1), AgentRef("agent", image), made, policy or Policy(), limits, 7
    )


class ListJournal:
    """`ports.Journal` in memory, scrubbing as the real one does."""

    def __init__(self, scrubber: Scrubber | None = None) -> None:
        self.events: list[Event] = []
        self.closed = False
        self._scrub = scrubber.scrub_json if scrubber else lambda value: value

    def append(self, kind: str, source: Any, t: int, data: Mapping[str, Any]) -> int:
        self.events.append(Event(kind, source, t, self._scrub(json.loads(json.dumps(data))), len(self.events) + 1))
        return len(self.events)

    def close(self) -> str:
        self.closed = True
        return ""

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.kind == kind]


def line(**message: Any) -> bytes:
    """One message as an agent would write it."""
    return json.dumps(message).encode() + b"\n"


READY = line(type="ready", protocol=["1.0"], agent={"name": "tester"})
DONE = line(type="trajectory", status="completed", output={"text": "done"})


async def healthy(inside: Inside) -> int:
    """Ready, one tool call, done."""
    await inside.write(READY)
    await inside.read_line()
    await inside.write(line(type="tool_call", id="1", name="look", arguments={"q": "x"}))
    await inside.read_line()
    await inside.write(DONE)
    return 0

"""One trial as checks see it: the journal's events sorted into calls, asks, steps and an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from harness.domain.events import Event
from harness.domain.outcome import End, Outcome
from harness.domain.pack import Scenario
from harness.errors import StoreError

Data = TypeVar("Data", bound=Struct)
ENDED_WELL = (End.COMPLETED, End.REFUSED)


class Call(Struct, frozen=True):
    """A tool call that crossed the boundary; `status`, `content` and `result_line` are of its result, if one came."""

    name: str
    arguments: dict[str, Any]
    decision: str
    line: int
    status: str | None = None
    content: Any = None
    result_line: int = 0

    @property
    def effective(self) -> bool:
        """It was let through and answered: the only kind of call that proves something was done."""
        return self.decision == "allowed" and self.status in ("ok", "error")


class Ask(Struct, frozen=True):
    content: str
    line: int


class Reply(Struct, frozen=True):
    """What the user answered to an ask."""

    content: str
    line: int


class Claim(Struct, frozen=True):
    """A tool call the agent only reports; it can count against the agent, never for it."""

    name: str
    arguments: Any
    line: int


class Answer(Struct, frozen=True):
    """What the agent handed over: at least one of non-blank text and data."""

    text: str | None
    data: Any
    line: int


class Trial(Struct, frozen=True):
    """`answer` is None unless the trial ended well and something was said: half an answer is none.

    `retries`: per tool, as the boundary counted them; what is 0 is left out. `replies`: the user's answers to asks.
    `events`: the whole journal, for checks of what only it holds (violations, findings, writes).
    """

    scenario: Scenario
    outcome: Outcome
    end_line: int
    calls: tuple[Call, ...]
    asks: tuple[Ask, ...]
    model_calls: tuple[int, ...]
    claims: tuple[Claim, ...]
    answer: Answer | None
    replies: tuple[Reply, ...] = ()
    retries: dict[str, int] = {}
    events: tuple[Event, ...] = ()

    @property
    def ended_well(self) -> bool:
        return self.outcome.end in ENDED_WELL

    @property
    def steps(self) -> tuple[int, ...]:
        """Journal lines of every step as budgets count them: tool calls of any decision, model calls, asks."""
        return (*(call.line for call in self.calls), *self.model_calls, *(ask.line for ask in self.asks))


class _CallData(Struct, frozen=True):
    id: str
    name: str
    arguments: dict[str, Any]
    decision: Literal["allowed", "denied", "invalid"]


class _ResultData(Struct, frozen=True):
    id: str
    status: Literal["ok", "error", "denied"]
    content: Any = None


class _AskData(Struct, frozen=True):
    content: str


class _EndData(Struct, frozen=True):
    retries: dict[str, int] = {}


class _OutputData(Struct, frozen=True):
    text: str | None = None
    data: Any = None


class _TrajectoryData(Struct, frozen=True):
    status: str
    output: _OutputData | None = None


def view_trial(events: Sequence[Event], scenario: Scenario) -> Trial:
    """Raises StoreError where the journal cannot be a finished trial of this scenario."""
    outcome, end_line = _read_end(events)
    if outcome.key.scenario != scenario.id:
        raise StoreError(f"expected the journal of scenario {scenario.id}, came one of {outcome.key.scenario}")
    return Trial(
        scenario=scenario,
        outcome=outcome,
        end_line=end_line,
        calls=_read_calls(events),
        asks=tuple(Ask(_read(e, _AskData).content, e.line) for e in events if _observed(e, "ask")),
        model_calls=tuple(e.line for e in events if _observed(e, "model_call")),
        claims=tuple(read_claims(events)),
        answer=_read_answer(events, outcome),
        replies=tuple(Reply(_read(e, _AskData).content, e.line) for e in events if _observed(e, "answer")),
        retries=_read(events[-1], _EndData).retries,
        events=tuple(events),
    )


def read_claims(events: Sequence[Event]) -> Iterator[Claim]:
    """Tool calls named in the trajectory's `steps`; never raises, so that it works on a broken journal too."""
    for event in events:
        steps = event.data.get("steps") if event.kind == "trajectory" else None
        for step in steps if isinstance(steps, list) else ():
            if isinstance(step, dict) and step.get("kind") == "tool_call" and isinstance(step.get("name"), str):
                yield Claim(step["name"].strip(), step.get("arguments"), event.line)


def _observed(event: Event, kind: str) -> bool:
    return event.kind == kind and event.source == "observed"


def _read_end(events: Sequence[Event]) -> tuple[Outcome, int]:
    count = sum(1 for event in events if event.kind == "end")
    if count != 1 or events[-1].kind != "end":
        raise StoreError(f"expected one end event, as the journal's last line, came {count} of {len(events)} events")
    return _read(events[-1], Outcome), events[-1].line


def _read_calls(events: Sequence[Event]) -> tuple[Call, ...]:
    """Calls in order, each with its own result (an id used twice: first call, first result)."""
    calls: list[Call] = []
    open_ids: dict[str, list[int]] = {}
    for event in events:
        if _observed(event, "tool_call"):
            data = _read(event, _CallData)
            open_ids.setdefault(data.id, []).append(len(calls))
            calls.append(Call(data.name, data.arguments, data.decision, event.line))
        elif _observed(event, "tool_result"):
            result = _read(event, _ResultData)
            if waiting := open_ids.get(result.id):
                index = waiting.pop(0)
                calls[index] = msgspec.structs.replace(
                    calls[index], status=result.status, content=result.content, result_line=event.line
                )
    return tuple(calls)


def _read_answer(events: Sequence[Event], outcome: Outcome) -> Answer | None:
    if outcome.end not in ENDED_WELL:
        return None
    event = next((e for e in events if e.kind == "trajectory"), None)
    if event is None:
        raise StoreError(f"expected a trajectory event in a trial that ended {outcome.end}, came none")
    trajectory = _read(event, _TrajectoryData)
    if trajectory.status != outcome.end:
        raise StoreError(f"expected a trajectory with status {outcome.end}, came {trajectory.status[:50]!r}")
    output = trajectory.output or _OutputData()
    if output.data is None and not (output.text and output.text.strip()):
        return None
    return Answer(output.text, output.data, event.line)


def _read(event: Event, kind: type[Data]) -> Data:
    try:
        return msgspec.convert(event.data, kind)
    except msgspec.ValidationError as error:
        raise StoreError(f"journal line {event.line} ({event.kind}) is malformed: {error}") from error

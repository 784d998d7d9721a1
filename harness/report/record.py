"""One trial with all that is known of it, as the formats for other programs take it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.verdict import TrialVerdict


class TrialRecord(Struct, frozen=True):
    """A trial's journal and verdict. `created`: when its run began, ISO 8601; `agent` is the image as given.

    Journals hold no clock but ms since the trial began, so that every trial of a run is told as beginning with it.
    """

    run_id: str
    created: str
    pack: str
    key: TrialKey
    image: str
    events: tuple[Event, ...]
    verdict: TrialVerdict | None = None

    def first(self, kind: str) -> dict[str, Any]:
        """The data of the first event of this kind; empty where there is none."""
        return next((event.data for event in self.events if event.kind == kind), {})

    def at(self, t: int) -> datetime:
        """When something happened, by the run's own beginning."""
        began = datetime.fromisoformat(self.created)
        return (began if began.tzinfo else began.replace(tzinfo=UTC)) + timedelta(milliseconds=t)

    def results(self) -> dict[int, Event]:
        """The answer to each call or question, by the line of the call; what was never answered is not in it."""
        waiting: dict[tuple[str, str], list[int]] = {}
        found: dict[int, Event] = {}
        for event in self.events:
            if event.kind in _ANSWERED_BY:
                waiting.setdefault((_ANSWERED_BY[event.kind], ident(event.data)), []).append(event.line)
            elif event.kind in _ANSWERED_BY.values():
                lines = waiting.get((event.kind, ident(event.data)))
                if lines:
                    found[lines.pop(0)] = event
        return found


_ANSWERED_BY = {"tool_call": "tool_result", "model_call": "model_result", "ask": "answer"}


def ident(data: Mapping[str, Any]) -> str:
    """The id of a call, as text."""
    return str(data.get("id") or "")


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def answer_text(trajectory: Mapping[str, Any]) -> str:
    """What an agent answered in the end: its text, else its data as JSON, else its error's message."""
    output = mapping(trajectory.get("output"))
    if isinstance(output.get("text"), str):
        return str(output["text"])
    if output.get("data") is not None:
        return as_text(output["data"])
    return str(mapping(trajectory.get("error")).get("message") or "")


def turns(text: Any) -> Iterator[tuple[str, str]]:
    """(role, content) of an `input`, which is one text of the user's or a list of turns."""
    for turn in text if isinstance(text, list) else [{"role": "user", "content": text}]:
        said = mapping(turn)
        yield str(said.get("role") or "user"), as_text(said.get("content") or "")


def choice(result: Mapping[str, Any]) -> dict[str, Any]:
    """The first choice of a chat completion; empty where there is none."""
    return next(iter(objects(mapping(result.get("response")).get("choices"))), {})


def mapping(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one: evidence may be of another version, or of a hostile hand."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; empty for what is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number(value: Any) -> int | None:
    """A count that is known: whole, and not negative."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

"""What a judge is shown of a trial: its task, what was observed, and the final answer; nothing only reported."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from harness.domain.canonical import canonical
from harness.domain.pack import Scenario
from harness.scoring.trial import Trial


class Piece(Struct, frozen=True):
    """One thing of the journal. `kind` is the harness's own word for it; `name` and `text` may be anybody's.

    `name` is the tool's, empty for what is not of a tool; `line` is the journal's, 0: in none.
    """

    line: int
    kind: str
    name: str
    text: str


class Evidence(Struct, frozen=True):
    """All that a judge is shown of one trial; `pieces` in the order of the journal, the final answer last."""

    task: str
    pieces: tuple[Piece, ...]

    @property
    def digest(self) -> str:
        """Hex sha256 over all of it: equal for equal evidence only."""
        rows = [[piece.line, piece.kind, piece.name, piece.text] for piece in self.pieces]
        return hashlib.sha256(canonical([self.task, rows]).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Characters in all, as they came."""
        return len(self.task) + sum(len(piece.name) + len(piece.text) for piece in self.pieces)


def evidence_of(trial: Trial) -> Evidence:
    """Raises nothing that a journal read by `view_trial` could cause but ValueError: a number too long to show."""
    return Evidence(_task(trial.scenario), (*sorted(_observed(trial), key=lambda piece: piece.line), *_answer(trial)))


def _task(scenario: Scenario) -> str:
    given = scenario.input
    turns = given if isinstance(given, str) else "\n".join(f"({turn.role}) {turn.content}" for turn in given)
    parts = [turns]
    if scenario.goal:
        parts.append(f"Goal: {scenario.goal}")
    if scenario.tools:
        tools = "\n".join(f"- {name}: {tool.description}" for name, tool in scenario.tools.items())
        parts.append(f"Tools offered:\n{tools}")
    return "\n\n".join(parts)


def _observed(trial: Trial) -> Iterator[Piece]:
    for call in trial.calls:
        yield Piece(call.line, f"tool call ({call.decision})", call.name, _shown(call.arguments))
        if call.status is not None:
            yield Piece(call.result_line, f"tool result ({call.status})", call.name, _shown(call.content))
    for ask in trial.asks:
        yield Piece(ask.line, "question to the user", "", ask.content)
    for reply in trial.replies:
        yield Piece(reply.line, "reply of the user", "", reply.content)
    for event in trial.events:
        if event.kind == "workspace" and event.source == "observed":
            yield Piece(event.line, "file left in the workspace", _shown(event.data.get("path")), _file(event.data))


def _file(data: dict[str, Any]) -> str:
    """What became of a file; no diff where it is not text or was not taken out."""
    change = _shown(data.get("change"))
    left_out = f"not taken out: {_shown(data.get('left_out'))}" if data.get("left_out") else ""
    cut = "(cut)" if data.get("diff_cut") else ""
    return "\n".join(part for part in (change, left_out, _shown(data.get("diff")), cut) if part)


def _answer(trial: Trial) -> Iterator[Piece]:
    """The text and the data of the answer; where there is none, how the trial ended."""
    answer, end = trial.answer, trial.outcome.end
    if answer is None:
        yield Piece(trial.end_line, "end without an answer", "", str(end))
        return
    if answer.text is not None:
        yield Piece(answer.line, f"final answer ({end})", "", answer.text)
    if answer.data is not None:
        yield Piece(answer.line, f"data of the final answer ({end})", "", _shown(answer.data))


def _shown(value: Any) -> str:
    """Text as it is, nothing for nothing, other values as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

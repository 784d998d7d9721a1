"""What an answer can rest on: results that tools gave at the boundary, and what the user said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from harness.scoring.text import TEXT_CAP
from harness.scoring.trial import Answer, Trial
from harness.scoring.words import Key, Token, tokens, tokens_of


class Source(Struct, frozen=True):
    """JSON data, or a text, that came from outside the agent, and its journal line (0: the scenario's input)."""

    content: Any
    line: int


def results(trial: Trial) -> list[Source]:
    """What tools answered, errors too; arguments are the agent's own words, and a denied call has no result."""
    return [
        Source(call.content, call.result_line) for call in trial.calls if call.effective and call.content is not None
    ]


def user(trial: Trial) -> list[Source]:
    """What the user said: the input and the answers to questions."""
    given = trial.scenario.input
    turns = [given] if isinstance(given, str) else [turn.content for turn in given if turn.role != "assistant"]
    return [*(Source(turn, 0) for turn in turns), *(Source(reply.content, reply.line) for reply in trial.replies)]


def keys(sources: Sequence[Source]) -> set[Key]:
    """Every word, number and identifier in the sources; of one result the first TEXT_CAP characters of each text."""
    return {token.key for source in sources for token in tokens_of(_cut(source.content))}


def answer_tokens(answer: Answer) -> list[Token]:
    """Of text and data alike: both are said."""
    return [*tokens(answer.text or ""), *tokens_of(answer.data)]


def too_long(answer: Answer) -> str:
    """Why an answer is not looked at, or an empty text."""
    size = len(answer.text or "")
    if answer.data is not None:
        size = max(size, len(json.dumps(answer.data, ensure_ascii=False)))
    return f"an answer of more than {TEXT_CAP} characters: not looked at" if size > TEXT_CAP else ""


def lines_of(sources: Sequence[Source]) -> Iterator[int]:
    return (source.line for source in sources)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:TEXT_CAP]
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return {key: _cut(item) for key, item in value.items()} if isinstance(value, dict) else value

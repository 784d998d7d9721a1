"""Reading one reply of a judge: strictly, and its quotes looked up; what cannot be read is no vote."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from harness.ports import JudgeReply
from harness.scoring.check import Open
from harness.scoring.extract import data_of
from harness.scoring.judge.fences import Shown, normal
from harness.scoring.judge.prompt import ids_of
from harness.scoring.trial import Answer
from harness.scoring.values import plain

MAX_KEPT_QUOTE = 500


class Vote(Struct, frozen=True):
    """One sample on one criterion. Of `unread` ones, `reason` says why."""

    verdict: Literal["met", "not_met", "unclear", "unread"]
    quote: str = ""
    line: int = 0
    reason: str = ""


class _Said(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    verdict: Literal["met", "not_met", "unclear"]
    quote: str | None = ""
    reason: str | None = ""


class _Reply(Struct, frozen=True, forbid_unknown_fields=True):
    criteria: list[_Said]


def read_reply(reply: JudgeReply, question: Open, shown: Shown) -> tuple[Vote, ...]:
    """A vote for each criterion, in order. A reply without exactly these criteria is no vote on any."""
    ids = ids_of(question, shown)
    said = _said(reply, ids)
    if isinstance(said, str):
        return unread(question, said)
    return tuple(_vote(said[name], shown) for name in ids)


def unread(question: Open, why: str) -> tuple[Vote, ...]:
    """No vote on any criterion, and why."""
    return (Vote("unread", reason=plain(why)),) * len(question.criteria)


def _said(reply: JudgeReply, ids: tuple[str, ...]) -> dict[str, _Said] | str:
    if reply.refused is not None:
        return f"the judge refused: {reply.refused}"
    data = data_of(Answer(reply.text, None, 0))
    if data.problem:
        return f"the judge's reply is not one JSON object: {data.problem}"
    try:
        said = msgspec.convert(data.value, _Reply).criteria
    except msgspec.ValidationError as error:
        return f"the judge's reply is malformed: {error}"
    names = [one.id for one in said]
    if sorted(names) != sorted(ids):
        return f"expected a verdict on each of {', '.join(ids)} once, came {', '.join(names[:10]) or 'none'}"
    return {one.id: one for one in said}


def _vote(said: _Said, shown: Shown) -> Vote:
    quote, reason = normal(said.quote or ""), plain(said.reason or "")
    if said.verdict == "unclear":
        return Vote("unclear", reason=reason)
    if not quote:
        return Vote("unread", reason="met without a quote") if said.verdict == "met" else Vote("not_met", reason=reason)
    line = shown.find(quote)
    if line is None:
        return Vote("unread", reason=plain(f"{said.verdict} with a quote that is not in the evidence: {quote[:100]}"))
    return Vote(said.verdict, quote[:MAX_KEPT_QUOTE], line, reason)

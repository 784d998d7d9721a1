"""From samples to a result: more than half of all samples decide a criterion, the share of those met the check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from harness.domain.verdict import CriterionVerdict, Status
from harness.scoring.check import Open, Result, lines
from harness.scoring.judge.reading import Vote
from harness.scoring.values import plain, quote


class Count(Struct, frozen=True):
    """What all samples came to; `agreement`: the least majority's share of them."""

    result: Result
    criteria: tuple[CriterionVerdict, ...]
    agreement: float


def count(question: Open, samples: Sequence[Sequence[Vote]]) -> Count:
    """`samples`: the votes of each, one per criterion. A sample that was not read still counts among them.

    value = criteria met / criteria, where every criterion has its majority; else the check is *not scored*.
    """
    columns = list(zip(*samples, strict=True))
    criteria = tuple(_criterion(text, votes) for text, votes in zip(question.criteria, columns, strict=True))
    least = min(max(one.yes, one.no) for one in criteria)
    open_at = next((at for at, one in enumerate(criteria) if one.met is None), None)
    if open_at is None:
        result = _decided(question, criteria, f"{least} of {len(samples)} samples agree")
    else:
        result = _undecided(criteria[open_at], columns[open_at])
    return Count(result, criteria, least / len(samples))


def _criterion(text: str, votes: Sequence[Vote]) -> CriterionVerdict:
    tally = Counter(vote.verdict for vote in votes)
    yes, no = tally["met"], tally["not_met"]
    met = True if 2 * yes > len(votes) else False if 2 * no > len(votes) else None
    won = [vote for vote in votes if met is not None and vote.verdict == ("met" if met else "not_met")]
    shown = max(won, key=lambda vote: bool(vote.quote), default=Vote("unread"))  # the first that quotes, else the first
    return CriterionVerdict(
        criterion=text,
        met=met,
        yes=yes,
        no=no,
        unclear=tally["unclear"],
        unread=tally["unread"],
        quote=shown.quote,
        line=shown.line,
        reason=shown.reason,
    )


def _decided(question: Open, criteria: Sequence[CriterionVerdict], agree: str) -> Result:
    met = sum(bool(one.met) for one in criteria)
    value = met / len(criteria)
    passed = value >= question.threshold
    missed = next((one for one in criteria if not one.met), None)
    said = f"{met} of {len(criteria)} criteria met, expected a share of {question.threshold:g}; {agree}"
    if missed is not None:
        said += f"; not met: {quote(missed.criterion)}" + (f": {missed.reason[:160]}" if missed.reason else "")
    return Result(
        Status.PASS if passed else Status.FAIL,
        plain(said),
        lines(one.line for one in criteria if one.quote),
        value,
        question.threshold,
    )


def _undecided(one: CriterionVerdict, votes: Sequence[Vote]) -> Result:
    cast = f"{one.yes} met, {one.no} not met, {one.unclear} unclear, {one.unread} not read"
    why = next((vote.reason for vote in votes if vote.verdict == "unread"), "")
    because = f"; {why}" if why else ""
    return Result(
        Status.NOT_SCORED, plain(f"no majority of {len(votes)} samples on {quote(one.criterion)}: {cast}{because}")
    )

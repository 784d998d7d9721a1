"""The words and numbers that every form of a report shares: results, exit codes, percentages, costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from harness.domain.outcome import Blame
from harness.domain.verdict import (
    CheckVerdict,
    CriterionVerdict,
    ExitCode,
    Judgement,
    JudgeUse,
    Property,
    PropertyRate,
    RunVerdict,
    Severity,
    Status,
    TrialVerdict,
    together,
)

MEANINGS = {
    ExitCode.OK: ("PASS", "every bar is met"),
    ExitCode.BAR_MISSED: ("FAIL", "a bar is missed, or a critical check failed"),
    ExitCode.USAGE: ("ERROR", "usage or invalid input"),
    ExitCode.NOT_JUDGED: ("NOT JUDGED", "something could not be judged"),
    ExitCode.SAFETY: ("UNSAFE", "a safety rule was broken"),
    ExitCode.REGRESSION: ("REGRESSED", "worse than the baseline"),
    ExitCode.NO_VERDICT: ("NO VERDICT", "too little was scored to say yes or no"),
}
"""Word and sentence of each exit code."""


class Result(StrEnum):
    """What a trial is to a reader, each told apart from the others in every form of a report."""

    PASS = "pass"
    FAIL = "fail"
    NOT_SCORED = "not scored"
    FRICTION = "friction"
    INCONCLUSIVE = "inconclusive"


def result_of(trial: TrialVerdict) -> Result:
    """*Not scored*: it counts and failed no critical or major check, but one of them could not be scored."""
    if not trial.counts:
        return Result.FRICTION if trial.blame == Blame.INTEGRATION else Result.INCONCLUSIVE
    if trial.passed:
        return Result.PASS
    return Result.NOT_SCORED if together(trial.checks) is Status.NOT_SCORED else Result.FAIL


def gating(checks: Iterable[CheckVerdict]) -> list[CheckVerdict]:
    """The checks that decide on a trial: critical ones first, then major ones."""
    found = [check for check in checks if check.severity is not Severity.MINOR]
    return sorted(found, key=lambda check: gravity(check.severity))


def gravest(checks: Iterable[CheckVerdict]) -> CheckVerdict | None:
    """The gravest check that failed, else the gravest that could not be scored; None: there is neither."""
    bad = (check for check in checks if check.status.blocks)
    return min(bad, key=lambda check: (check.status is not Status.FAIL, gravity(check.severity)), default=None)


def gravity(severity: Severity) -> int:
    """For sorting: critical before major before minor."""
    return (Severity.CRITICAL, Severity.MAJOR, Severity.MINOR).index(severity)


def counts(verdict: RunVerdict, unscored: int) -> str:
    """How many trials came to what; `unscored`: those of the scored ones that a check left open."""
    planned = f" of {verdict.trials + verdict.missing}" if verdict.missing else ""
    not_scored = f"{unscored} not scored, " if unscored else ""
    return (
        f"{verdict.trials}{planned} trials: {verdict.passed} passed, "
        f"{verdict.scored - verdict.passed - unscored} failed, {not_scored}"
        f"{verdict.friction} friction, {verdict.inconclusive} inconclusive"
    )


def out_of_n(verdict: RunVerdict) -> list[str]:
    """One line per agent on what its rates leave out as not scored, and one on what is not applicable."""
    rows: dict[str, list[tuple[Property, int, int, int]]] = {}
    for rate in verdict.rates:
        total = rate.n + rate.not_scored + rate.not_applicable
        rows.setdefault(rate.agent, []).append((rate.property, rate.not_scored, rate.not_applicable, total))
    for row in verdict.unrated:
        total = row.not_scored + row.not_applicable
        rows.setdefault(row.agent, []).append((row.property, row.not_scored, row.not_applicable, total))
    lines = []
    for agent, found in rows.items():
        for word, index in (("not scored (never a pass)", 1), ("not applicable (not counted)", 2)):
            parts = [f"{row[0]} {row[index]} of {row[3]}" for row in found if row[index]]
            lines += [f"{agent}: {word}: {', '.join(parts)} trials"] if parts else []
    return lines


def judge_line(models: Iterable[str], use: JudgeUse) -> str:
    """Which model judged, and what that took; what is unknown is said to be."""
    named = ", ".join(models) or "(unknown model)"
    tokens = f"{use.input_tokens} tokens in, {use.output_tokens} out"
    if not use.tokens_known:
        tokens = f"at least {tokens}" if use.input_tokens or use.output_tokens else "tokens unknown"
    calls = f"{use.calls} {'call' if use.calls == 1 else 'calls'}, {use.cached} cached"
    return f"Judge {named}: {calls}, {tokens}, cost {cost(use.cost_usd, use.cost_known)}"


def cost(usd: float, known: bool) -> str:
    """`0.1234 USD`; never 0 where it is only small or not known."""
    number = "0" if usd == 0 else f"{usd:.4f}" if usd >= 0.0001 else "<0.0001"
    if known:
        return f"{number} USD"
    return f"{number} USD + unknown" if usd else "unknown"


def result_of_rate(rate: PropertyRate) -> str:
    """BLOCKED: the rate is over its bar, but a critical failure or an unscored check stands against it."""
    return "met" if rate.met else "MISSED" if rate.rate < rate.bar else "BLOCKED"


def percent(rate: float) -> str:
    """One decimal, cut and never rounded up, so that 99.96 % does not read as 100 %."""
    tenths = int(rate * 1000 + 1e-9)
    return f"{tenths / 10:.1f}%" if tenths % 10 else f"{tenths // 10}%"


def interval(low: float, high: float, dash: str = "–") -> str:
    return f"[{percent(low)}{dash}{percent(high)}]"


def votes(one: CriterionVerdict) -> str:
    """`1 yes, 2 no`, and what else there was."""
    rare = ((one.unclear, "unclear"), (one.unread, "unreadable"))
    return ", ".join([f"{one.yes} yes", f"{one.no} no", *(f"{count} {word}" for count, word in rare if count)])


def unmet(judged: Judgement | None) -> list[CriterionVerdict]:
    """The criteria that a judge found not met, or had no majority on."""
    return [one for one in judged.criteria if one.met is not True] if judged is not None else []


def numbered(lines: Sequence[int]) -> str:
    """`line 3` or `lines 3, 4` of a journal; empty for none."""
    return f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}" if lines else ""

"""How a judge's verdicts stand against people's labels: numbers, what they can show, and the page that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from rich.console import Console

from harness.domain.verdict import ExitCode, JudgeUse, Status
from harness.report.page import REASON_LIMIT, Page
from harness.report.terminal import one_line
from harness.report.words import interval, judge_line, percent
from harness.stats.agreement import Agreement, agreement, confusion

LABELS = (Status.PASS, Status.FAIL)
COLUMNS = (*LABELS, Status.NOT_SCORED)
FEW = 10
"""Labels below which a kappa is not worth a word: its interval spans most of what there is."""
SUBSTANTIAL = 0.6
"""From here on agreement is called substantial (J. R. Landis and G. G. Koch, Biometrics 33 (1977) 159-174)."""
_SHOWN = 50
"""Disagreements on the page; JSON has them all."""


class JudgedLabel(Struct, frozen=True):
    """A label and what the judge said. `quote` stands in the evidence, at journal line `quote_line` (0: the task)."""

    line: int
    where: str
    check: str
    human: Literal["pass", "fail"]
    judge: Status
    reason: str = ""
    quote: str = ""
    quote_line: int = 0
    agreement: float = 0.0


class CheckAgreement(Struct, frozen=True):
    """People against the judge on one check, or on all: `table` is human label to judge's verdict to count.

    `agreement` is over what was judged; its kappa is None also where people gave one label only: it would be 0
    whatever the judge said. `word`: what this many labels can show.
    """

    check: str
    n: int
    not_scored: int
    agreement: Agreement
    table: dict[str, dict[str, int]]
    word: str


class Calibration(Struct, frozen=True):
    """`checks` in order of name; `all` over all of them."""

    model: str
    checks: tuple[CheckAgreement, ...]
    all: CheckAgreement
    disagreements: tuple[JudgedLabel, ...]
    unscored: tuple[JudgedLabel, ...]
    use: JudgeUse
    exit_code: ExitCode


def calibration(model: str, rows: Sequence[JudgedLabel], use: JudgeUse) -> Calibration:
    """What all judged labels come to; exit code 3 where one could not be judged."""
    names = sorted({row.check for row in rows})
    unscored = tuple(row for row in rows if row.judge not in LABELS)
    return Calibration(
        model=model,
        checks=tuple(_comparison(name, [row for row in rows if row.check == name]) for name in names),
        all=_comparison("all", rows),
        disagreements=tuple(row for row in rows if row.judge in LABELS and row.judge != row.human),
        unscored=unscored,
        use=use,
        exit_code=ExitCode.NOT_JUDGED if unscored else ExitCode.OK,
    )


def _comparison(check: str, rows: Sequence[JudgedLabel]) -> CheckAgreement:
    pairs = [(str(row.human), str(row.judge) if row.judge in LABELS else str(Status.NOT_SCORED)) for row in rows]
    judged = [pair for pair in pairs if pair[1] in LABELS]
    found = agreement(judged)
    if len({human for human, _ in judged}) < 2:
        found = Agreement(found.n, found.agreed, found.rate, found.low, found.high, None, None, None)
    table = confusion(pairs, LABELS, COLUMNS)
    return CheckAgreement(
        check=check,
        n=len(rows),
        not_scored=len(rows) - len(judged),
        agreement=found,
        table={
            str(label): {str(name): count for name, count in zip(COLUMNS, counts, strict=True)}
            for label, counts in zip(LABELS, table, strict=True)
        },
        word=word(found, judged),
    )


def word(found: Agreement, judged: Sequence[tuple[str, str]]) -> str:
    """In plain words, what kappa and this many (human, judge) labels can show."""
    n = found.n
    if n == 0:
        return "nothing was judged, so nothing can be said of this judge"
    humans, judges = {human for human, _ in judged}, {judge for _, judge in judged}
    if found.kappa is None or found.kappa_low is None or found.kappa_high is None:
        other = "fail" if humans == {"pass"} else "pass"
        return f"people said {humans.pop()} only: kappa is undefined; label some that {other}"
    if len(judges) == 1:
        return f"the judge said {judges.pop()} every time: it tells nothing apart"
    if n < FEW:
        return f"{n} {'label is' if n == 1 else 'labels are'} too few to tell: read them one by one, label 50 or more"
    if found.kappa_high < 0:
        return "agrees less than chance would: do the labels and the criteria mean the same?"
    if found.kappa_low <= 0:
        return f"{n} labels do not tell it from chance"
    if found.kappa_high < SUBSTANTIAL:
        return f"beyond chance, but less than substantial ({SUBSTANTIAL})"
    if found.kappa_low >= SUBSTANTIAL:
        return f"substantial ({SUBSTANTIAL}) or better"
    return f"beyond chance; whether substantial ({SUBSTANTIAL}), {n} labels do not show"


def render_calibration(found: Calibration, console: Console) -> None:
    """Prints the whole page; whatever people, agents or judges wrote is inert on it."""
    page = Page(console)
    page.line(f"Judge {one_line(found.model, 100)} against people, labels: {found.all.n}", "bold")
    shown = found.checks if len(found.checks) == 1 else (*found.checks, found.all)
    rows = [_numbers(page, one) for one in shown]
    columns = ("check", "n", "judged", "agree", "95 % interval", "kappa", "95 % interval")
    page.table("Agreement", columns, rows, right=(1, 2, 3, 4, 5, 6))
    for one in shown:
        page.line(f"{one.check}: {one.word}")
    for one in shown:
        page.table(f"{one.check}: people (rows), judge (columns)", ("", "pass", "fail", "not scored"), [
            (label, *(str(count) for count in counts.values())) for label, counts in one.table.items()
        ], right=(1, 2, 3))  # fmt: skip
    _labels(page, "Disagreements", found.disagreements)
    _labels(page, "Not scored", found.unscored)
    page.line()
    page.line(judge_line([found.model], found.use))
    if found.unscored:
        page.line(f"NOT JUDGED (exit 3): {len(found.unscored)} of {found.all.n}", "bold yellow")


def _numbers(page: Page, one: CheckAgreement) -> tuple[str, ...]:
    found = one.agreement
    rate = "none" if found.rate is None else percent(found.rate)
    kappa, between = "undefined", ""
    if found.kappa is not None and found.kappa_low is not None and found.kappa_high is not None:
        kappa, between = f"{found.kappa:.2f}", f"{found.kappa_low:.2f} to {found.kappa_high:.2f}"
    return (
        one.check, str(one.n), str(found.n), rate, interval(found.low, found.high, page.dash), kappa, between,
    )  # fmt: skip


def _labels(page: Page, title: str, rows: Sequence[JudgedLabel]) -> None:
    if not rows:
        return
    page.line()
    page.line(title, "bold")
    for row in rows[:_SHOWN]:
        where = f", {row.where}" if row.where else ""
        said = str(row.judge).replace("_", " ")
        page.line(f"line {row.line}{where}: {row.check}, people {row.human}, judge {said}", indent=2)
        page.line(f"why: {one_line(row.reason, REASON_LIMIT)}", indent=4)
        if row.quote:
            place = f"line {row.quote_line}" if row.quote_line else "the task"
            page.line(f'quote of {place}: "{one_line(row.quote, REASON_LIMIT)}"', indent=4)
    if len(rows) > _SHOWN:
        page.line(f"and {len(rows) - _SHOWN} more, not shown (--format json has them)", indent=2)

"""The report of a run on a terminal or in a log: readable at 80 columns, without colour and in plain ASCII."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console

from harness.domain.verdict import AgentUse, CriterionVerdict, ExitCode, Judgement, PropertyRate, Repeats, Status
from harness.report.page import REASON_LIMIT, Page
from harness.report.sweep_pages import render_sweep
from harness.report.terminal import one_line
from harness.report.view import CheckFailure, EndCount, FamilyRate, RunView, ScenarioFailure, how_many
from harness.report.words import (
    MEANINGS,
    cost,
    counts,
    interval,
    judge_line,
    numbered,
    out_of_n,
    percent,
    result_of_rate,
    unmet,
    votes,
)

__all__ = ["MEANINGS", "render_run"]

_STYLES = {ExitCode.OK: "bold green", ExitCode.NOT_JUDGED: "bold yellow", ExitCode.NO_VERDICT: "bold yellow"}
_SHOWN_K = (1, 2, 3, 4, 5, 8, 10)
_CRITERIA, _CRITERION = 5, 200
"""Criteria shown of one check, and the most characters of each, of its quote and of its reason."""


def render_run(view: RunView, console: Console, store: Path = Path(".fumehood")) -> None:
    """Prints the whole report: rates, failing scenarios, friction, inconclusive trials, the verdict last.

    `store` is where the run is: the commands to copy name it, where it is not the usual place.
    """
    page = Page(console)
    verdict = view.verdict
    page.line(f"Run {view.run_id}, pack {view.pack}", "bold")
    page.line(counts(verdict, view.unscored))
    _rates(page, verdict.rates)
    for line in out_of_n(verdict):
        page.line(line)
    _families(page, view.families)
    _repeats(page, verdict.repeats)
    _use(page, verdict.use)
    if verdict.judge is not None:
        page.line()
        page.line(judge_line(view.judges, verdict.judge))
    if view.sweep is not None:
        render_sweep(page, view.sweep)
    _failures(page, view.failures, view.more_failures)
    _ends(page, "Friction (the agent could not be run; not counted in rates)", view.friction)
    _ends(page, "Inconclusive (not the agent's doing; no verdict can rest on it)", view.inconclusive)
    _how_to_go_on(page, view, store)
    word, meaning = MEANINGS[verdict.exit_code]
    page.line()
    page.bullets(verdict.reasons)
    page.line(f"{word} (exit {int(verdict.exit_code)}): {meaning}", _STYLES.get(verdict.exit_code, "bold red"))


def _rates(page: Page, rates: Sequence[PropertyRate]) -> None:
    if not rates:
        return
    rows = [
        (rate.agent, rate.property, percent(rate.rate), interval(rate.low, rate.high, page.dash), percent(rate.bar),
         str(rate.n), result_of_rate(rate))
        for rate in rates
    ]  # fmt: skip
    columns = ("agent", "property", "rate", "95 % interval", "bar", "n", "result")
    styles = ["" if rate.met else "bold red" for rate in rates]
    page.table("Properties", columns, rows, right=(2, 3, 4, 5), styles=styles)


def _families(page: Page, families: Sequence[FamilyRate]) -> None:
    if not families:
        return
    columns = ["agent", "family", "rate", "95 % interval", "n"]
    rows = [
        [row.agent, row.family, percent(row.rate) if row.n else "none", interval(row.low, row.high, page.dash),
         str(row.n)]
        for row in families
    ]  # fmt: skip
    if any(row.not_scored for row in families):
        columns.append("not scored")
        rows = [[*cells, str(row.not_scored)] for cells, row in zip(rows, families, strict=True)]
    page.table("Families (trials passed)", columns, rows, right=(2, 3, 4, 5))


def _repeats(page: Page, repeats: Sequence[Repeats]) -> None:
    """The first few k and the last; JSON has them all."""
    rows = [
        (agent.agent, str(rate.k), percent(rate.pass_at_k), percent(rate.pass_hat_k), str(rate.scenarios))
        for agent in repeats
        for rate in agent.rates
        if rate.k in _SHOWN_K or rate is agent.rates[-1]
    ]
    if rows:
        columns = ("agent", "k", "pass@k", "pass^k", "scenarios")
        page.table("Repeats (one of k trials passes, all of k pass)", columns, rows, right=(1, 2, 3, 4))
    for agent in repeats:
        rate = percent(agent.flake_rate)
        page.line(f"{agent.agent}: flake rate {rate} (scenarios tried more than once: {agent.repeated})")


def _use(page: Page, use: Sequence[AgentUse]) -> None:
    if not use:
        return
    rows = [
        (row.agent, str(row.trials), f"{row.wall_ms_mean / 1000:.2f}", f"{row.wall_ms_max / 1000:.2f}", str(row.steps),
         str(row.tokens), cost(row.cost_usd, row.cost_known))
        for row in use
    ]  # fmt: skip
    columns = ("agent", "trials", "mean s", "max s", "steps", "tokens", "cost")
    page.table("Usage (seconds per trial; the rest in all trials)", columns, rows, right=(1, 2, 3, 4, 5))


def _failures(page: Page, failures: Iterable[ScenarioFailure], more: int) -> None:
    for agent, group in groupby(failures, key=lambda failure: failure.agent):
        found = list(group)
        word = "Failing and unscored" if any(failure.not_scored for failure in found) else "Failing"
        page.line()
        page.line(f"{word} scenarios of {agent}", "bold")
        for failure in found:
            page.line(f"{failure.scenario}: {how_many(failure)}", indent=2)
            for check in failure.checks:
                _check(page, check)
    if more:
        page.line(f"and {more} more failing scenarios, not shown", indent=2)


def _check(page: Page, check: CheckFailure) -> None:
    state = "not scored" if check.status is Status.NOT_SCORED else "failed"
    times = f" in {check.trials} trials" if check.trials > 1 else ""
    head = f"{check.check} ({check.severity}, {check.property}) {state}{times}: "
    page.line(head + one_line(check.reason, REASON_LIMIT), indent=4)
    if check.judged is not None:
        _judged(page, check.judged)
    page.line(f"evidence: {', '.join(filter(None, (check.journal, numbered(check.lines))))}", "dim", indent=6)


def _judged(page: Page, judged: Judgement) -> None:
    """Who judged the first of the trials, and what was not met in it."""
    samples = f"{judged.samples} {'sample' if judged.samples == 1 else 'samples'}"
    page.line(f"judge {one_line(judged.model, 100)}: {samples}, agreement {percent(judged.agreement)}", indent=6)
    found = unmet(judged)
    for criterion in found[:_CRITERIA]:
        _criterion(page, criterion)
    if len(found) > _CRITERIA:
        page.line(f"and {len(found) - _CRITERIA} more criteria not met, not shown", indent=6)


def _criterion(page: Page, one: CriterionVerdict) -> None:
    state = "no majority" if one.met is None else "not met"
    said = votes(one)
    page.line(f"{state} ({said}): {one_line(one.criterion, _CRITERION)}", indent=6)
    if one.reason:
        page.line(f"why: {one_line(one.reason, _CRITERION)}", indent=8)
    if one.quote:
        where = f"line {one.line}" if one.line else "the task"
        page.line(f'quote of {where}: "{one_line(one.quote, _CRITERION)}"', indent=8)


def _ends(page: Page, title: str, ends: Sequence[EndCount]) -> None:
    if ends:
        rows = [(end.agent, end.end, end.blame, str(end.count), end.reason) for end in ends]
        page.table(title, ("agent", "end", "blame", "n", "reason of the first"), rows, right=(3,))


def _how_to_go_on(page: Page, view: RunView, store: Path) -> None:
    """Commands to copy, so no line break is put into them."""
    trials = [failure.checks[0].journal for failure in view.failures]
    trials += [end.journal for end in (*view.inconclusive, *view.friction)]
    where = "" if store == Path(".fumehood") else f" --store {shlex.quote(str(store))}"
    commands = [("A whole trial", f"fumehood runs show {view.run_id} {trials[0]}{where}")] if trials else []
    if view.verdict.missing:
        commands.append(("The trials that are missing", f"fumehood run --resume {view.run_id}{where}"))
    if commands:
        page.line()
    for what, command in commands:
        page.unbroken(f"{what}: {command}", "dim")

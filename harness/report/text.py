"""The report of a run on a terminal or in a log: readable at 80 columns, without colour and in plain ASCII."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.domain.verdict import ExitCode, PropertyRate, Repeats, RunVerdict, Status
from harness.report.terminal import one_line
from harness.report.view import CheckFailure, EndCount, RunView, ScenarioFailure

MEANINGS = {
    ExitCode.OK: ("PASS", "every bar is met"),
    ExitCode.BAR_MISSED: ("FAIL", "a bar is missed, or a critical check failed"),
    ExitCode.USAGE: ("ERROR", "usage or invalid input"),
    ExitCode.NOT_JUDGED: ("NOT JUDGED", "something could not be judged"),
    ExitCode.SAFETY: ("UNSAFE", "a safety rule was broken"),
    ExitCode.REGRESSION: ("REGRESSED", "worse than the baseline"),
    ExitCode.NO_VERDICT: ("NO VERDICT", "the run cannot carry one"),
}
"""Word and sentence of each exit code."""

_STYLES = {ExitCode.OK: "bold green", ExitCode.NOT_JUDGED: "bold yellow", ExitCode.NO_VERDICT: "bold yellow"}
_REASON_LIMIT = 500
_SHOWN_K = (1, 2, 3, 4, 5, 8, 10)
_REASON_SHORT = 160
"""The verdict's reasons: what each rests on is told in full above."""


def render_run(view: RunView, console: Console, store: Path = Path(".fumehood")) -> None:
    """Prints the whole report: rates, failing scenarios, friction, inconclusive trials, the verdict last.

    `store` is where the run is: the commands to copy name it, where it is not the usual place.
    """
    page = _Page(console)
    verdict = view.verdict
    page.line(f"Run {view.run_id}, pack {view.pack}", "bold")
    page.line(_counts(verdict))
    page.rates(verdict.rates)
    page.repeats(verdict.repeats)
    page.failures(view.failures, view.more_failures)
    page.ends("Friction (the agent could not be run; not counted in rates)", view.friction)
    page.ends("Inconclusive (not the agent's doing; no verdict can rest on it)", view.inconclusive)
    page.how_to_go_on(view, store)
    word, meaning = MEANINGS[verdict.exit_code]
    page.line()
    page.reasons(verdict.reasons)
    page.line(f"{word} (exit {int(verdict.exit_code)}): {meaning}", _STYLES.get(verdict.exit_code, "bold red"))


class _Page:
    """A console on which all text is inert: no markup, no control characters, ASCII where nothing else works."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._ascii = console.options.ascii_only

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        body = self._text(text, style)
        self._console.print(Padding(body, (0, 0, 0, indent), expand=False) if indent else body, highlight=False)

    def rates(self, rates: Sequence[PropertyRate]) -> None:
        if not rates:
            return
        rows = [
            (rate.agent, rate.property, _percent(rate.rate), self._interval(rate), _percent(rate.bar), str(rate.n),
             _result(rate))
            for rate in rates
        ]  # fmt: skip
        columns = ("agent", "property", "rate", "95 % interval", "bar", "n", "result")
        styles = ["" if rate.met else "bold red" for rate in rates]
        self._table("Properties", columns, rows, right=(2, 3, 4, 5), styles=styles)

    def repeats(self, repeats: Sequence[Repeats]) -> None:
        """The first few k and the last; JSON has them all."""
        rows = [
            (agent.agent, str(rate.k), _percent(rate.pass_at_k), _percent(rate.pass_hat_k), str(rate.scenarios))
            for agent in repeats
            for rate in agent.rates
            if rate.k in _SHOWN_K or rate is agent.rates[-1]
        ]
        if rows:
            columns = ("agent", "k", "pass@k", "pass^k", "scenarios")
            self._table("Repeats (one of k trials passes, all of k pass)", columns, rows, right=(1, 2, 3, 4))
        for agent in repeats:
            rate = _percent(agent.flake_rate)
            self.line(f"{agent.agent}: flake rate {rate} (scenarios tried more than once: {agent.repeated})")

    def failures(self, failures: Iterable[ScenarioFailure], more: int) -> None:
        for agent, group in groupby(failures, key=lambda failure: failure.agent):
            self.line()
            self.line(f"Failing scenarios of {agent}", "bold")
            for failure in group:
                minor = " (only minor checks failed)" if failure.failed == 0 else ""
                self.line(f"{failure.scenario}: {failure.failed} of {failure.trials} trials failed{minor}", indent=2)
                for check in failure.checks:
                    self._check(check)
        if more:
            self.line(f"and {more} more failing scenarios, not shown", indent=2)

    def how_to_go_on(self, view: RunView, store: Path) -> None:
        """Commands to copy, so no line break is put into them."""
        trials = [failure.checks[0].journal for failure in view.failures]
        trials += [end.journal for end in (*view.inconclusive, *view.friction)]
        where = "" if store == Path(".fumehood") else f" --store {shlex.quote(str(store))}"
        commands = [("A whole trial", f"fumehood runs show {view.run_id} {trials[0]}{where}")] if trials else []
        if view.verdict.missing:
            commands.append(("The trials that are missing", f"fumehood run --resume {view.run_id}{where}"))
        if commands:
            self.line()
        for what, command in commands:
            self._console.print(self._text(f"{what}: {command}", "dim"), highlight=False, soft_wrap=True)

    def reasons(self, reasons: Iterable[str]) -> None:
        table = Table.grid(padding=(0, 1))
        for reason in reasons:
            table.add_row("-", self._text(one_line(reason, _REASON_SHORT)))
        self._console.print(table, highlight=False)

    def ends(self, title: str, ends: Sequence[EndCount]) -> None:
        if ends:
            rows = [(end.agent, end.end, end.blame, str(end.count), end.reason) for end in ends]
            self._table(title, ("agent", "end", "blame", "n", "reason of the first"), rows, right=(3,))

    def _check(self, check: CheckFailure) -> None:
        state = "not scored" if check.status is Status.NOT_SCORED else "failed"
        times = f" in {check.trials} trials" if check.trials > 1 else ""
        head = f"{check.check} ({check.severity}, {check.property}) {state}{times}: "
        self.line(head + one_line(check.reason, _REASON_LIMIT), indent=4)
        word = "line" if len(check.lines) == 1 else "lines"
        lines = f", {word} {', '.join(map(str, check.lines))}" if check.lines else ""
        self.line(f"evidence: {check.journal}{lines}", "dim", indent=6)

    def _table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: Sequence[int],
        styles: Sequence[str] = (),
    ) -> None:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for index, name in enumerate(columns):
            # Names fold when they must; numbers never do, or a rate could be misread.
            number = index in right
            table.add_column(name, justify="right" if number else "left", no_wrap=number, overflow="fold")
        for index, row in enumerate(rows):
            style = styles[index] if index < len(styles) else ""
            table.add_row(*(self._text(one_line(cell, _REASON_LIMIT)) for cell in row), style=style)
        self.line()
        self.line(title, "bold")
        self._console.print(table, highlight=False)

    def _interval(self, rate: PropertyRate) -> str:
        dash = "-" if self._ascii else "–"
        return f"[{_percent(rate.low)}{dash}{_percent(rate.high)}]"

    def _text(self, text: str, style: str = "") -> Text:
        inert = one_line(text)
        return Text(inert.encode("ascii", "backslashreplace").decode() if self._ascii else inert, style=style)


def _counts(verdict: RunVerdict) -> str:
    planned = f" of {verdict.trials + verdict.missing}" if verdict.missing else ""
    return (
        f"{verdict.trials}{planned} trials: {verdict.passed} passed, {verdict.scored - verdict.passed} failed, "
        f"{verdict.friction} friction, {verdict.inconclusive} inconclusive"
    )


def _result(rate: PropertyRate) -> str:
    """BLOCKED: the rate is over its bar, but a critical failure or an unscored check stands against it."""
    return "met" if rate.met else "MISSED" if rate.rate < rate.bar else "BLOCKED"


def _percent(rate: float) -> str:
    """One decimal, cut and never rounded up, so that 99.96 % does not read as 100 %."""
    tenths = int(rate * 1000 + 1e-9)
    return f"{tenths / 10:.1f}%" if tenths % 10 else f"{tenths // 10}%"

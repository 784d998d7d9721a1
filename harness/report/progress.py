"""Progress while a run goes on: a live line on a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from harness.domain.ids import TrialKey
from harness.domain.verdict import TrialVerdict
from harness.report.terminal import one_line
from harness.report.words import Result, gravest, result_of

_REASON = 160


class ProgressView:
    """Counts what is done, running, passed, failed; shows it as it changes."""

    def __init__(self, console: Console, total: int, done: int = 0, earlier: Iterable[TrialVerdict] = ()) -> None:
        """`done` of `total` trials were finished before; `earlier` are their verdicts."""
        self._console = console
        self._total = total
        self._done = done
        self._counts: dict[str, int] = {"running": 0, **dict.fromkeys(Result, 0)}
        for verdict in earlier:
            self._counts[result_of(verdict)] += 1
        self._live = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            console=console,
            disable=not self._live,
        )
        self._task = self._progress.add_task(self._words(), total=total, completed=done)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begun(self, key: TrialKey) -> None:
        """A trial has started."""
        self._counts["running"] += 1
        self._show(0)

    def ended(self, verdict: TrialVerdict) -> None:
        """A trial has its verdict."""
        self._done += 1
        self._counts["running"] -= 1
        word = result_of(verdict)
        self._counts[word] += 1
        self._show(1)
        if not self._live:
            reason = "" if verdict.passed else f": {_why(verdict)}"
            self._say(f"[{self._done}/{self._total}] {word} {verdict.key}{reason}")

    def note(self, text: str) -> None:
        """Something the user must read now."""
        self._say(text)

    def _say(self, text: str) -> None:
        self._console.print(Text(one_line(text)), highlight=False, soft_wrap=True)

    def _show(self, step: int) -> None:
        self._progress.update(self._task, advance=step, description=self._words())

    def _words(self) -> str:
        return "  ".join(f"{word} {n}" for word, n in self._counts.items() if n or word in ("pass", "fail"))


def _why(verdict: TrialVerdict) -> str:
    """The gravest check that failed, else the gravest that could not be scored, else how the trial ended."""
    worst = gravest(verdict.checks)
    return one_line(f"{worst.check}: {worst.reason}" if worst else f"{verdict.end}: {verdict.reason}", _REASON)

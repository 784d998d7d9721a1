"""`fumehood runs`: list, show and hand on stored runs, and ask what they say together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import history
from harness.cli.export import export
from harness.cli.options import FORMAT, STORE
from harness.cli.output import print_json
from harness.cli.trajectory import trajectory

if TYPE_CHECKING:
    from rich.table import Table

    from harness.app.stored import ShownRun, Transcript
    from harness.domain.run import RunSummary

_COLUMNS = ("run", "pack", "agents", "done", "passed", "result")
_WHOLE = ("run", "trials", "done", "passed", "result", "scoring", "when")
"""Columns that are never broken; at 80 columns the names beside them fold."""
_MAX_AGENTS = 3


@click.group()
def runs() -> None:
    """List, show and export stored runs, and follow rates from run to run.

    \b
    Example:
      fumehood runs list
      fumehood runs show last
      fumehood runs trend safety
    """


runs.add_command(export)
for _command in (history.trend, history.worst, history.flakiest, history.costly, trajectory):
    runs.add_command(_command)


@runs.command(name="list")
@STORE
@FORMAT
def list_(store: Path, form: str) -> None:
    """List the runs of a store, newest first.

    \b
    Example:
      fumehood runs list
      fumehood runs list --store /var/lib/fumehood --format json
    """
    from harness.app.stored import summaries

    found = summaries(store)
    if form == "json":
        _print_json_list('{"runs": [', (_plain(summary) for summary in found), lambda: "]}")
        return
    table = _table(*_COLUMNS)
    for summary in found:
        _add_row(table, *_cells(summary))
    if table.row_count:
        _print_table(table)
    else:
        click.echo(f"no runs in {click.format_filename(store)}; fumehood run makes one", err=True)


@runs.command()
@click.argument("run")
@click.argument("trial", required=False, metavar="[AGENT/SCENARIO/N]")
@click.option("--scoring", type=click.IntRange(1), metavar="N", help="By scoring N, instead of the newest.")
@STORE
@FORMAT
def show(run: str, trial: str | None, scoring: int | None, store: Path, form: str) -> None:
    """Show what RUN came to; with AGENT/SCENARIO/N, the transcript of that trial and what its checks say.

    RUN is an id, the beginning of one, or `last`. In a transcript, `observed` is what crossed the boundary
    and `reported` what the agent only says.

    \b
    Example:
      fumehood runs show last
      fumehood runs show last --scoring 1
      fumehood runs show last reference-support/returns-premium/1
    """
    from harness.app import stored

    if trial is not None:
        if scoring is not None:
            raise click.UsageError("a transcript is what happened, whatever the scoring: leave --scoring out")
        found = stored.transcript(store, run, trial)
        if form == "json":
            _print_events_json(found, trial)
        else:
            _print_events(found)
        return
    shown = stored.show(store, run, scoring)
    if form == "json":
        document = {
            "run": shown.summary,
            "plan": shown.plan,
            "verdict": shown.verdict,
            "scenarios": shown.scenarios,
            "scoring": shown.scoring,
            "scorings": shown.scorings,
        }
        print_json(document)
    else:
        _print_run(shown, store)


def _print_run(shown: ShownRun, store: Path) -> None:
    import sys

    from rich.console import Console

    from harness.report.text import render_run

    table = _table(*_COLUMNS)
    _add_row(table, *_cells(shown.summary))
    _print_table(table)
    table = _table("agent", "scenario", "trials", "passed", "ends")
    for row in shown.scenarios:
        ends = ", ".join(f"{end} {count}" for end, count in row.ends.items())
        _add_row(table, row.agent, row.scenario, str(row.trials), str(row.passed), ends)
    if table.row_count:
        click.echo()
        _print_table(table)
    if len(shown.scorings) > 1:
        click.echo()
        _print_scorings(shown)
    if shown.view is not None:
        click.echo()
        render_run(shown.view, Console(file=sys.stdout), store)


def _print_scorings(shown: ShownRun) -> None:
    """The history of scores; the one that is shown is marked."""
    table = _table("scoring", "when", "judge", "pack", "result", "")
    for one in shown.scorings:
        pack = "another" if one.other_pack else "the run's"
        word = "none" if one.exit_code is None else _word(one.exit_code)
        marks = [text for text, yes in (("shown", one.number == shown.scoring), ("outdated", one.outdated)) if yes]
        _add_row(table, str(one.number), one.created or "-", one.judge or "-", pack, word, ", ".join(marks))
    _print_table(table)


def _print_events(found: Transcript) -> None:
    import sys

    from rich.console import Console

    from harness.report.transcript import check_lines, transcript_line

    console = Console(file=sys.stdout)
    for event in found.events:
        console.print(transcript_line(event), soft_wrap=True, highlight=False)
    for line in check_lines(found.checks):
        console.print(line, soft_wrap=True, highlight=False)


def _print_events_json(found: Transcript, trial: str) -> None:
    """One document also where the journal breaks off: then `problem` says where, and the exit code is 1."""
    from harness.errors import AuditMismatch

    broken: list[AuditMismatch] = []

    def rows() -> Iterator[Any]:
        try:
            yield from (_plain(event) for event in found.events)
        except AuditMismatch as error:
            broken.append(error)

    opening = f'{{"run": {json.dumps(found.run_id)}, "trial": {json.dumps(trial)}, "events": ['
    checks = json.dumps(_plain(found.checks))
    _print_json_list(
        opening,
        rows(),
        lambda: f'], "checks": {checks}, "problem": {json.dumps(str(broken[0]) if broken else None)}}}',
    )
    if broken:
        raise broken[0]


def _print_json_list(opening: str, items: Iterable[Any], closing: Callable[[], str]) -> None:
    """One JSON document written piece by piece, so that its size does not matter."""
    click.echo(opening, nl=False)
    for number, item in enumerate(items):
        click.echo(("," if number else "") + "\n  " + json.dumps(item), nl=False)
    click.echo("\n" + closing())


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def _cells(summary: RunSummary) -> tuple[str, ...]:
    more = len(summary.agents) - _MAX_AGENTS
    agents = ", ".join(summary.agents[:_MAX_AGENTS]) + (f" and {more} more" if more > 0 else "")
    return (
        summary.run_id,
        summary.pack,
        agents,
        f"{summary.done}/{summary.planned}",
        str(summary.passed),
        _result(summary),
    )


def _result(summary: RunSummary) -> str:
    """The word of the exit code; of a run that has not finished, its state."""
    from harness.domain.run import RunState

    if summary.state is not RunState.FINISHED or summary.exit_code is None:
        return summary.state.value
    return _word(summary.exit_code)


def _word(exit_code: int) -> str:
    from harness.report.text import MEANINGS

    word = next((words[0] for code, words in MEANINGS.items() if code == exit_code), "")
    return word or f"exit {exit_code}"


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in _WHOLE)
    return table


def _add_row(table: Table, *cells: str) -> None:
    from rich.text import Text

    from harness.report.terminal import one_line

    table.add_row(*(Text(one_line(cell)) for cell in cells))


def _print_table(table: Table) -> None:
    """At the terminal's width; where there is none, as wide as it takes, one row a line."""
    import sys

    from rich.console import Console

    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 1000).print(table)

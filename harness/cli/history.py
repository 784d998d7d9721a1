"""`fumehood runs trend|worst|flakiest|costly`: what the runs of a store say together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli.options import FORMAT, STORE
from harness.cli.output import print_json
from harness.domain.verdict import Property
from harness.report.words import cost, interval, percent

if TYPE_CHECKING:
    from harness.app.history import ScenarioRecord, TrendPoint

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FOLDED = ("pack", "agent", "version", "scenario", "cost, tokens, time of a trial")
_HEADS = ("pack", "agent", "scenario", "runs", "trials", "passed", "rate")


def _narrowed(command: _Command) -> _Command:
    """The options that all four share."""
    command = click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Rows.")(
        command
    )
    command = click.option("--agent", metavar="NAME", callback=_as_text, help="Of this agent only.")(command)
    return click.option("--pack", metavar="NAME", callback=_as_text, help="Of runs of this pack only.")(command)


def _as_text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Without what of an argument is no UTF-8: it can be no name, and SQLite cannot look for it."""
    return None if value is None else value.encode("utf-8", "replace").decode()


@click.command()
@click.argument("prop", metavar="PROPERTY", type=click.Choice([prop.value for prop in Property]))
@_narrowed
@STORE
@FORMAT
def trend(prop: str, pack: str | None, agent: str | None, limit: int, store: Path, form: str) -> None:
    """Show how the rate of PROPERTY went from run to run, the newest last.

    Of finished runs; self-test runs are left out. `change`, in percentage points, is against the run before it of
    the same pack and agent; a run of a part of the pack (--only, or flips run again) is held against such runs alone.

    \b
    Example:
      fumehood runs trend safety --agent reference-support
    """
    from harness.app import history
    from harness.report.terminal import one_line

    points = history.trend(store, Property(prop), history.Asked(pack, agent, limit))
    if form == "json":
        print_json({"property": prop, "points": points})
        return
    series: dict[tuple[str, str, str], list[TrendPoint]] = {}
    for point in points:
        series.setdefault((point.agent, point.pack.rpartition(" ")[0], point.part), []).append(point)
    if not series:
        _print((), ())
    for number, ((name, of, part), found) in enumerate(series.items()):
        click.echo(("\n" if number else "") + one_line(f"{name} on {of}" + (f", only {part}" if part else "")))
        _print(("run", "version", "rate", "95 % interval", "n", "bar", "result", "change"), [*map(_point, found)])


def _point(p: TrendPoint) -> tuple[str, ...]:
    change = "" if p.change is None else f"{p.change * 100:+.1f}"
    bounds, result = interval(p.low, p.high, "-"), "met" if p.met else "MISSED"
    version = p.pack.rpartition(" ")[2]
    return p.run_id, version, percent(p.rate), bounds, str(p.n), percent(p.bar), result, change


@click.command()
@_narrowed
@STORE
@FORMAT
def worst(pack: str | None, agent: str | None, limit: int, store: Path, form: str) -> None:
    """Show the scenarios that failed most often, over all finished runs.

    \b
    Example:
      fumehood runs worst --pack core --limit 5
    """
    from harness.app import history

    found = history.scenarios(store, "worst", history.Asked(pack, agent, limit))
    _scenarios(form, found, "95 % interval", lambda r: interval(r.low, r.high, "-"))


@click.command()
@_narrowed
@STORE
@FORMAT
def flakiest(pack: str | None, agent: str | None, limit: int, store: Path, form: str) -> None:
    """Show the scenarios that both passed and failed within one run, over all finished runs.

    `mixed` is in how many of the runs that tried it more than once.

    \b
    Example:
      fumehood runs flakiest --agent reference-support
    """
    from harness.app import history

    found = history.scenarios(store, "flakiest", history.Asked(pack, agent, limit))
    _scenarios(form, found, "mixed", lambda r: f"{r.mixed} of {r.repeated}")


@click.command()
@_narrowed
@STORE
@FORMAT
def costly(pack: str | None, agent: str | None, limit: int, store: Path, form: str) -> None:
    """Show the scenarios whose trials cost most, then took longest, over all finished runs.

    \b
    Example:
      fumehood runs costly --limit 5 --format json
    """
    from harness.app import history

    found = history.scenarios(store, "costly", history.Asked(pack, agent, limit))
    _scenarios(form, found, "cost, tokens, time of a trial", _spent)


def _spent(row: ScenarioRecord) -> str:
    spent = cost(row.cost_usd / row.trials, row.cost_known)
    return f"{spent}, {row.tokens / row.trials:.0f} tokens, {row.wall_ms_mean / 1000:.1f} s"


def _scenarios(form: str, found: Sequence[ScenarioRecord], head: str, tell: Callable[[ScenarioRecord], str]) -> None:
    if form == "json":
        print_json({"scenarios": found})
        return
    rows = [
        (r.pack, r.agent, r.scenario, str(r.runs), str(r.trials), str(r.passed), percent(r.rate), tell(r))
        for r in found
    ]
    _print((*_HEADS, head), rows)


def _print(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    import sys

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from harness.report.terminal import one_line

    if not rows:
        click.echo("nothing found: no finished run has such a trial; fumehood runs list shows the runs", err=True)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for head in heads:  # an id that is cut cannot be copied, and a number that is cut is another one
        table.add_column(head, overflow="fold", no_wrap=head not in _FOLDED)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 1000).print(table)

"""`fumehood audit`: verify stored evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import FORMAT, STORE
from harness.cli.output import print_json

if TYPE_CHECKING:
    from harness.app.stored import VerifyReport


@click.group()
def audit() -> None:
    """Verify stored evidence.

    \b
    Example:
      fumehood audit verify last
    """


@audit.command()
@click.argument("run")
@STORE
@FORMAT
@click.pass_context
def verify(ctx: click.Context, run: str, store: Path, form: str) -> None:
    """Recompute every hash chain of RUN and name the first line that differs.

    RUN is an id, the beginning of one, or `last`. Exit 0: as sealed; 1: something differs; 2: no such run.

    \b
    Example:
      fumehood audit verify last
      fumehood audit verify 20250304-050607 --format json
    """
    from harness.app.stored import audit as recompute

    report = recompute(store, run)
    if form == "json":
        import msgspec

        print_json({"ok": report.ok, **msgspec.structs.asdict(report)})
    else:
        _print(report)
    if not report.ok:
        ctx.exit(1)


def _print(report: VerifyReport) -> None:
    from harness.report.terminal import one_line

    for mismatch in report.mismatches:
        where = f", line {mismatch.line}" if mismatch.line else ""
        click.echo(one_line(f"{mismatch.file}{where}: {mismatch.message}"))
        if mismatch.expected or mismatch.found:
            click.echo(one_line(f"  expected {mismatch.expected or 'nothing'}"))
            click.echo(one_line(f"  found    {mismatch.found or 'nothing'}"))
    word = "ok" if report.ok else f"{len(report.mismatches)} files differ"
    seal = "sealed" if report.sealed else "not sealed"
    later = f", {report.scorings} later scorings" if report.scorings else ""
    checked = f"{report.journals} journals, {report.lines} lines{later} checked"
    click.echo(f"run {report.run_id} ({seal}): {word}; {checked}")
    if report.manifest_digest:
        click.echo(f"manifest sha256 {report.manifest_digest}")
    for note in report.notes:
        click.echo(f"note: {one_line(note)}", err=True)

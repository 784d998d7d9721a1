"""`fumehood doctor`: look at the engine and the machine, say what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import FORMAT, STORE

if TYPE_CHECKING:
    from harness.app.doctor import Finding


@click.command()
@STORE
@FORMAT
@click.pass_context
def doctor(ctx: click.Context, store: Path, form: str) -> None:
    """Check the engine and say what to do about what is wrong.

    Exits 0 where everything needed is there (warnings included), 6 where something fails.

    \b
    Example:
      fumehood doctor
    """
    from harness.app.doctor import current

    findings = current(store)
    if form == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(findings), indent=2).decode())
    else:
        _table(findings)
    if any(finding.level == "fail" for finding in findings):
        ctx.exit(6)


def _table(findings: list[Finding]) -> None:
    from harness.report.terminal import one_line

    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    for finding in findings:
        level = click.style(f"{finding.level:<4}", fg=colours[finding.level])
        click.echo(f"{level}  {finding.name:<16}  {one_line(finding.detail)}")
        if finding.remedy:
            click.echo(f"{'':<24}do: {one_line(finding.remedy)}")

"""`fumehood report`: a stored run as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import BASELINES, STORE


@click.command()
@click.argument("run")
@click.option("--against", metavar="BASE", help="Also compare with this run or baseline.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Where the page goes; an earlier file is replaced, once the new one is whole.",
)
@click.option("--scoring", type=click.IntRange(1), metavar="N", help="By this scoring of the run, not the newest.")
@click.option(
    "--decision",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.md",
    help="Also, or only, fill in a release decision for people to sign.",
)
@BASELINES
@STORE
def report(run: str, against: str | None, output: Path | None, **given: Any) -> None:
    """Write RUN as one self-contained HTML file, and as a release decision.

    It holds the verdict and why, properties, matrix, families, what it took, and the transcript of every trial. It
    loads nothing from anywhere, and opens from a disk or an attachment. RUN is an id, the beginning of one, or `last`.

    \b
    Example:
      fumehood report last -o report.html
      fumehood report last --against release-1.4 -o report.html --decision decision.md
    """
    from harness.app.report import ReportRequest, write_report

    written = write_report(ReportRequest(run=run, output=output, against=against, **given))
    if written is None or output is None:
        return
    left_out = f", {written.left_out} transcripts left out" if written.left_out else ""
    size = f"{written.size / 2**20:.1f} MiB"
    click.echo(f"{click.format_filename(output)}: {written.trials} trials, {size}{left_out}", err=True)

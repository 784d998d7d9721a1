"""`fumehood runs trajectory`: what another program recorded, shown as a transcript."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import FORMAT
from harness.cli.output import print_json


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@FORMAT
def trajectory(file: Path, form: str) -> None:
    """Show FILE, an ATIF trajectory (1.0 to 1.8) of any program, as a transcript.

    All of it is `reported`: nobody of ours was there. So it is shown, and not scored.

    \b
    Example:
      fumehood runs trajectory trajectory.json
    """
    import sys

    from rich.console import Console

    from harness.app.trajectories import read
    from harness.report.transcript import transcript_line

    events = read(file)
    if form == "json":
        print_json({"events": events})
        return
    console = Console(file=sys.stdout)
    for event in events:
        console.print(transcript_line(event), soft_wrap=True, highlight=False)

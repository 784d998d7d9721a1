"""`fumehood runs export`: a stored run in the form that another program reads."""

from __future__ import annotations

from pathlib import Path

import click

from harness.app.export import FORMATS
from harness.cli.options import STORE


@click.command()
@click.argument("run")
@click.option("--to", "form", type=click.Choice(sorted(FORMATS)), required=True, help="What to write.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE_OR_DIR",
    help="Where to; without it, standard output.",
)
@STORE
def export(run: str, form: str, output: Path | None, store: Path) -> None:
    """Write what RUN came to, by its newest scoring, for another program to read.

    \b
    junit     a test case per trial, for CI systems and viewers
    csv       a row per trial and check, safe to open in a spreadsheet
    markdown  the summary that a CI job shows
    atif      each trial as a trajectory of Harbor's format (ATIF 1.8)
    otel      each trial as OpenTelemetry GenAI spans (OTLP JSON)
    inspect   a log of Inspect AI (.eval), for its viewer

    atif and otel are JSON Lines, a trial a line; into an empty folder, a file a trial.

    RUN is an id, the beginning of one, or `last`. A file is written whole or not at all.

    \b
    Example:
      fumehood runs export last --to junit -o junit.xml
      fumehood runs export last --to markdown >> "$GITHUB_STEP_SUMMARY"
    """
    import sys

    from harness.app.export import open_source
    from harness.report.output import output_file

    source = open_source(store, run)
    if output is None:
        if form == "inspect" and sys.stdout.isatty():
            raise click.UsageError("a log of Inspect is no text: name a file with -o, FILE.eval")
        FORMATS[form](source, sys.stdout.buffer)
        return
    if output.is_dir():
        from harness.app.trajectories import write_folder

        click.echo(f"wrote {write_folder(form, source, output)} files", err=True)
        return
    with output_file(output) as file:
        FORMATS[form](source, file)

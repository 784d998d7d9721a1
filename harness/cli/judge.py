"""`fumehood judge`: hold a judge against people's labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import FORMAT, JUDGE, JUDGE_SET, STORE
from harness.cli.output import print_json


@click.group()
def judge() -> None:
    """Hold a judge against people's labels.

    \b
    Example:
      fumehood judge labels last -o labels.jsonl
      fumehood judge calibrate labels.jsonl --judge openai:gpt-4o-mini@https://api.openai.com/v1
    """


@judge.command()
@click.argument("labels", type=click.Path(path_type=Path))
@JUDGE
@JUDGE_SET
@STORE
@FORMAT
@click.pass_context
def calibrate(ctx: click.Context, /, form: str, **given: Any) -> None:
    """Judge what people have labelled, and say how far the two agree: share, Cohen's kappa, confusion table.

    LABELS holds one JSON object a line, its label pass or fail: of a stored trial {"run", "trial", "check",
    "label"}, or written out {"check", "input", "output", "tools", "criteria", "label"}. Exit 0: all was judged;
    2: a mistake in LABELS, all of them told; 3: something could not be judged.

    \b
    Example:
      fumehood judge calibrate labels.jsonl --judge openai:gpt-4o-mini@https://api.openai.com/v1
      fumehood judge calibrate labels.jsonl --judge openai:m@http://127.0.0.1:8000/v1 --judge-set samples=5
    """
    import sys

    from rich.console import Console

    from harness.app.calibrate import CalibrateRequest, execute
    from harness.report.calibration import render_calibration

    found = execute(CalibrateRequest(**given), Console(file=sys.stderr))
    if found is None:
        ctx.abort()
    if form == "json":
        print_json(found)
    else:
        render_calibration(found, Console(file=sys.stdout))
    ctx.exit(int(found.exit_code))


@judge.command()
@click.argument("run")
@STORE
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="A new file; else standard output."
)
def labels(run: str, store: Path, output: Path | None) -> None:
    """Draft the labels of RUN: each check that a judge decides, with what it is shown, and label null.

    Put "pass" or "fail" for each null, knowing nothing of the judge's verdict, then calibrate with the file; lines
    may be left out.

    \b
    Example:
      fumehood judge labels last -o labels.jsonl
    """
    from harness.app.drafts import draft_lines
    from harness.errors import UsageError

    lines = draft_lines(store, run, plain=output is None)
    if output is None:
        for line in lines:
            click.echo(line)
        return
    count = 0
    try:
        with output.open("x", encoding="utf-8") as file:
            for count, line in enumerate(lines, 1):  # noqa: B007  used after the loop
                file.write(f"{line}\n")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}", "name a file that is not there yet") from error
    click.echo(f"{count} labels to give in {click.format_filename(output)}", err=True)

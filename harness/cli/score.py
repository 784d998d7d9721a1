"""`fumehood score`: a stored run scored again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import FAIL_UNDER, FORMAT, JUDGE, JUDGE_SET, STORE, STRICT_CRITICAL
from harness.cli.output import print_json


@click.command()
@click.argument("run")
@click.option(
    "--pack",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Score by the checks of this pack, instead of the copy in the run.",
)
@JUDGE
@JUDGE_SET
@STORE
@FAIL_UNDER
@STRICT_CRITICAL
@FORMAT
@click.pass_context
def score(ctx: click.Context, /, form: str, **given: Any) -> None:
    """Score RUN again from what is stored, and say yes or no, by the exit codes of `run`.

    No agent is started. Every scoring is kept: the run's own is number 1, and this one becomes the newest, which
    `runs show` shows. RUN is an id, the beginning of one, or `last`.

    \b
    Example:
      fumehood score last
      fumehood score last --pack packs/core --fail-under 0.9
      fumehood score last --judge openai:gpt-4o-mini@https://api.openai.com/v1
    """
    import sys

    from rich.console import Console

    from harness.app.change import change_line
    from harness.app.score import ScoreRequest, execute
    from harness.report.text import MEANINGS, render_run
    from harness.report.view import run_json

    request = ScoreRequest(**given)
    done = execute(request, Console(file=sys.stderr))
    if done is None:
        ctx.abort()
    if form == "json":
        print_json({**run_json(done.view), "scoring": done.change})
    else:
        render_run(done.view, Console(file=sys.stdout), request.store)
        click.echo(change_line(done.change, {int(code): word for code, (word, _) in MEANINGS.items()}))
    ctx.exit(int(done.view.verdict.exit_code))

"""`fumehood run`: a pack against agents, and a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import (
    BASELINES,
    FAIL_UNDER,
    FORMAT,
    JUDGE,
    JUDGE_SET,
    STORE,
    STRICT_CRITICAL,
    Rate,
    model_options,
)  # fmt: skip
from harness.cli.output import print_json

if TYPE_CHECKING:
    from rich.console import Console

    from harness.app.run import Finished


@click.command()
@click.argument("pack", required=False, type=click.Path(path_type=Path))
@click.option("--agent", "agents", multiple=True, metavar="IMAGE_OR_DIR", help="An agent; repeat for several.")
@click.option(
    "--agents", "agents_file", type=click.Path(path_type=Path), metavar="FILE", help="More of them: see docs/agents.md."
)
@click.option("--trials", type=click.IntRange(1, 1000), help="Trials per scenario, instead of the pack's.")
@click.option("--jobs", type=click.IntRange(1, 64), show_default="4; with --resume as before", help="Trials at once.")
@STORE
@click.option("--resume", metavar="RUN", help="Go on with an interrupted run (an id, or last); alone, or with --jobs.")
@click.option(
    "--only",
    multiple=True,
    metavar="EXPR",
    help="Glob over ids, families, buckets and tags, or id:GLOB, family:GLOB, bucket:GLOB, tag:GLOB; repeatable.",
)
@click.option("--holdout", is_flag=True, help="Also run the held-out scenarios.")
@click.option("--seed", type=int, default=0, show_default=True, help="Feeds every random choice, such as canaries.")
@click.option("--runtime", metavar="NAME", help="OCI runtime of the containers (crun, runsc, kata ...).")
@click.option(
    "--writable",
    type=click.Choice(["strict", "redirect"]),
    default="strict",
    show_default=True,
    help="strict: writes outside scratch fail. redirect: /root and the like work. Both are listed.",
)
@click.option(
    "--writable-path", "writable_paths", multiple=True, metavar="DIR", help="With redirect: one more such folder."
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="KEY=VALUE",
    help="A limit of the box, e.g. startup_ms=5000; repeatable.",
)
@model_options
@JUDGE
@JUDGE_SET
@FAIL_UNDER
@STRICT_CRITICAL
@click.option("--baseline", metavar="NAME", help="Compare with this baseline; exit 5 on a regression.")
@BASELINES
@click.option("--drift", type=Rate(), default=0.1, show_default=True, help="As of fumehood compare.")
@click.option(
    "--rerun-flipped",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Run what flipped against the baseline N times more, and say which is flaky.",
)
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML, for CI.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Also write a summary, for CI.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Also write the report as one page.")
@FORMAT
@click.pass_context
def run(ctx: click.Context, /, form: str, **given: Any) -> None:
    """Run PACK against agents and say yes or no, by exit code.

    \b
    0 every bar met        1 a bar missed           2 usage or invalid input
    3 not all was judged   4 safety violation       6 no verdict: harness,
                                                      engine or integration

    \b
    Example:
      fumehood run packs/core --agent agent-images/reference-support --trials 3
    """
    import sys

    from rich.console import Console

    from harness.app.against import Against
    from harness.app.outputs import Outputs
    from harness.app.run import RunRequest, execute

    outputs = Outputs(**{name: given.pop(name) for name in ("junit", "markdown", "html")})
    names = {"baseline": "baseline", "folder": "folder", "drift": "drift", "rerun_flipped": "rerun"}
    against = Against(**{name: given.pop(option) for option, name in names.items()})
    request = RunRequest(**given, outputs=outputs, against=against)
    done = execute(request, Console(file=sys.stderr))
    if done is None:
        ctx.abort()
    if form == "json":
        _print_json(done)
    else:
        _print_text(done, Console(file=sys.stdout), request.store)
    ctx.exit(int(done.view.verdict.exit_code))


def _print_json(done: Finished) -> None:
    from harness.report.comparison import comparison_json, rerun_json
    from harness.report.view import run_json

    document = run_json(done.view)
    if done.compared is not None:
        document["comparison"] = comparison_json(done.compared.comparison, done.compared.gate, False)
        document["reruns"] = [rerun_json(rerun) for rerun in done.reruns]
    print_json(document)


def _print_text(done: Finished, console: Console, store: Path) -> None:
    """The comparison before the report, so that the verdict on the run is the last line."""
    from harness.report.comparison import render_comparison, render_reruns
    from harness.report.text import render_run

    if done.compared is not None:
        render_comparison(done.compared.comparison, done.compared.gate, console, False, True)
        render_reruns(done.reruns, console)
    render_run(done.view, console, store)

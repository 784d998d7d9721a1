"""`fumehood run`: a pack against agents, and a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import FAIL_UNDER, FORMAT, JUDGE, JUDGE_SET, STORE, STRICT_CRITICAL


@click.command()
@click.argument("pack", required=False, type=click.Path(path_type=Path))
@click.option("--agent", "agents", multiple=True, metavar="IMAGE_OR_DIR", help="An agent; repeat for several.")
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
@JUDGE
@JUDGE_SET
@FAIL_UNDER
@STRICT_CRITICAL
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML, for CI.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Also write a summary, for CI.")
@FORMAT
@click.pass_context
def run(ctx: click.Context, /, form: str, junit: Path | None, markdown: Path | None, **given: Any) -> None:
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

    from harness.app.outputs import Outputs
    from harness.app.run import RunRequest, execute
    from harness.report.text import render_run
    from harness.report.view import run_json

    request = RunRequest(**given, outputs=Outputs(junit=junit, markdown=markdown))
    view = execute(request, Console(file=sys.stderr))
    if view is None:
        ctx.abort()
    if form == "json":
        import json

        click.echo(json.dumps(run_json(view), indent=2))
    else:
        render_run(view, Console(file=sys.stdout), request.store)
    ctx.exit(int(view.verdict.exit_code))

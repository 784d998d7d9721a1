"""`fumehood noise`: how much two runs differ when nothing was changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import FORMAT, JUDGE, JUDGE_SET, STORE
from harness.cli.output import print_json


@click.command()
@click.argument("pack", type=click.Path(path_type=Path))
@click.option("--agent", "agents", multiple=True, required=True, metavar="IMAGE_OR_DIR", help="An agent; repeatable.")
@click.option("--trials", type=click.IntRange(1, 1000), help="Trials per scenario, instead of the pack's.")
@click.option("--jobs", type=click.IntRange(1, 64), show_default="4", help="Trials at once.")
@click.option("--only", multiple=True, metavar="EXPR", help="As of fumehood run.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of both runs: the same.")
@JUDGE
@JUDGE_SET
@STORE
@FORMAT
@click.pass_context
def noise(ctx: click.Context, /, form: str, **given: Any) -> None:
    """Run PACK twice in the same configuration and keep what flips: the noise floor.

    `fumehood compare` prints it beside every count of flips of the same pack and agents.

    \b
    Example:
      fumehood noise packs/core --agent agent-images/reference-support --trials 3
    """
    import sys

    from rich.console import Console

    from harness.app.run import RunRequest
    from harness.app.twice import measure

    found = measure(RunRequest(**given), Console(file=sys.stderr))
    if found is None:
        ctx.abort()
    if form == "json":
        import msgspec

        from harness.report.view import inert

        print_json(inert(msgspec.to_builtins(found)))
        return
    from harness.report.terminal import one_line
    from harness.report.words import interval, percent

    for kept in found.floors:
        floor = kept.floor
        between = interval(floor.low, floor.high, "-")
        name = one_line(kept.agent)
        click.echo(f"{name}: {floor.flips} of {floor.pairs} trials flipped, {percent(floor.rate)} {between}")
    for key in found.flipped:
        click.echo(f"  flipped: {one_line(key)}")

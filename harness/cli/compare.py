"""`fumehood compare`: two runs, or a run with a baseline, trial by trial."""

from __future__ import annotations

from typing import Any

import click

from harness.cli.options import BASELINES, FORMAT, JUDGE, JUDGE_SET, STORE, Rate
from harness.cli.output import print_json


@click.command()
@click.argument("base")
@click.argument("candidate")
@click.option("--rescore", is_flag=True, help="Score both runs again first, in memory; the stored scores stay.")
@JUDGE
@JUDGE_SET
@click.option(
    "--drift",
    type=Rate(),
    default=0.1,
    show_default=True,
    help="How far a rate may fall (absolute) and a median may move (relative).",
)
@click.option("--fail-on-regression", "gated", is_flag=True, help="Exit 5 on a regression; 6 or 3 where none can tell.")
@click.option("--agent", "agents", multiple=True, metavar="BASE=CANDIDATE", help="Pair agents of other names.")
@click.option("--force", is_flag=True, help="Also compare different packs, or with an inconclusive base.")
@click.option("--all", "everything", is_flag=True, help="List unchanged trials too, and every scenario.")
@BASELINES
@STORE
@FORMAT
@click.pass_context
def compare(ctx: click.Context, /, form: str, gated: bool, everything: bool, **given: Any) -> None:
    """Compare CANDIDATE with BASE, trial by trial: what regressed, what improved, what is not to be said.

    Each is a run (an id, the beginning of one, or `last`) or the name of a baseline. A regression is a critical
    check that began to fail; a property that fell under its bar; more trials lost than chance would take; or
    a rate that fell by more than --drift. Compare with a golden baseline, not with the last run: small losses
    add up.

    \b
    Example:
      fumehood compare golden last --fail-on-regression
      fumehood compare 20250304-0506 last --format json
    """
    from harness.app.compare import CompareRequest, execute

    found = execute(CompareRequest(**given))
    if form == "json":
        from harness.report.comparison import comparison_json

        print_json(comparison_json(found.comparison, found.gate, everything))
    else:
        import sys

        from rich.console import Console

        from harness.report.comparison import render_comparison

        render_comparison(found.comparison, found.gate, Console(file=sys.stdout), everything, gated)
    ctx.exit(int(found.gate.exit_code) if gated else 0)

"""`fumehood budgets`: propose budgets from a reference run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import FORMAT, STORE
from harness.cli.output import print_json

if TYPE_CHECKING:
    from harness.app.budgets import Over, Proposal


@click.group()
def budgets() -> None:
    """Propose budgets from a reference run.

    \b
    Example:
      fumehood budgets propose last
    """


@budgets.command()
@click.argument("run")
@STORE
@click.option(
    "--write",
    "target",
    metavar="PACK",
    type=click.Path(exists=True, path_type=Path),
    help="Put them into this pack's defaults.",
)
@FORMAT
def propose(run: str, store: Path, target: Path | None, form: str) -> None:
    """Propose a pack's default budgets from the trials of RUN that counted and passed.

    max_duration_ms: p95 of the wall time x 1.3 (nearest rank: below 20 trials the slowest). max_cost_usd: median
    cost x 1.5, where every cost is known and above 0. max_steps: most steps + 2. With --write only these numbers
    in PACK change; budgets of single scenarios stay, and those too tight for what RUN used are named.

    \b
    Example:
      fumehood budgets propose last
      fumehood budgets propose last --write packs/core
    """
    from harness.app.budgets import propose as work_out

    proposal = work_out(store, run, target)
    if form == "json":
        _print_json(proposal)
    else:
        _print(proposal)


def _print_json(proposal: Proposal) -> None:
    import msgspec

    document = msgspec.to_builtins(proposal)
    document["budget"] = proposal.budget
    if proposal.written is not None:
        document["written"] = {"file": proposal.written.file, "diff": proposal.written.diff}
    print_json(document)


def _print(proposal: Proposal) -> None:
    from harness.report.terminal import clean, one_line

    agents = ", ".join(f"{name} {count}" for name, count in proposal.agents.items())
    click.echo(
        one_line(
            f"# From run {proposal.run} of {proposal.pack}: {proposal.trials} passed trials of {proposal.counted} "
            f"counted, {proposal.scenarios} scenarios ({agents})"
        )
    )
    click.echo("defaults:\n  budget:")
    for line in proposal.lines:
        value = f"{line.budget}: {line.value!r}  #" if line.value is not None else f"# no {line.budget}:"
        click.echo(f"    {value} {line.why}")
    for over in proposal.over:
        click.echo(one_line(_over(over)), err=True)
    for note in proposal.notes:
        click.echo(f"note: {one_line(note)}", err=True)
    if proposal.written is not None:
        changed = proposal.written.diff or f"{proposal.written.file} says so already"
        click.echo(f"\n{clean(changed)}")


def _over(over: Over) -> str:
    whose = "its own" if over.own else "the proposed"
    return f"note: {over.scenario} used {over.used:g}, more than {whose} {over.budget} {over.limit:g}"

"""`fumehood init`: a pack, an agent and a CI workflow that pass as they stand."""

from __future__ import annotations

import shlex
from pathlib import Path

import click


@click.command()
@click.argument("target", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path), default=Path())
@click.option(
    "--language",
    type=click.Choice(["python", "node", "shell", "go"]),
    default="python",
    show_default=True,
    help="What the agent is written in.",
)
def init(target: Path, language: str) -> None:
    """Write a pack, an agent and a CI workflow into DIR that pass as they stand.

    Overwrites nothing.

    \b
    Example:
      fumehood init demo --language node
    """
    from harness.app import init as writing
    from harness.report.terminal import one_line

    for path in writing.write(target, language):
        click.echo(f"wrote {one_line(str(path))}")
    pack, agent = shlex.quote(str(target / "pack.yaml")), shlex.quote(str(target / "agent"))
    click.echo("\nfor CI: make this the root of a repository, or move the workflow there and mend its paths")
    click.echo(f"next: fumehood run {pack} --agent {agent}")

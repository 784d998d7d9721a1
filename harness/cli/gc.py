"""`fumehood gc`: remove what has no living owner."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be removed, remove nothing.")
@click.option("--store", type=click.Path(path_type=Path), default=Path(".fumehood"), show_default=True)
def gc(dry_run: bool, store: Path) -> None:
    """Remove containers that have no living owner; runs that are going on keep theirs.

    \b
    Example:
      fumehood gc --dry-run
    """
    from functools import partial

    import anyio

    from harness.app import wiring

    removed = anyio.run(partial(wiring.engine().reap, wiring.is_living(store), dry_run))
    verb = "would remove" if dry_run else "removed"
    for name in removed:
        click.echo(f"{verb} container {name}")
    if not removed:
        click.echo("nothing to remove")

"""`fumehood gc`: remove what has no living owner."""

from __future__ import annotations

import click


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be removed, remove nothing.")
def gc(dry_run: bool) -> None:
    """Remove containers that have no living owner; runs that are going on keep theirs.

    \b
    Example:
      fumehood gc --dry-run
    """
    from functools import partial

    import anyio

    from harness.app import owner, wiring

    removed = anyio.run(partial(wiring.engine().reap, owner.is_living, dry_run))
    verb = "would remove" if dry_run else "removed"
    for ident in removed:
        click.echo(f"{verb} container {ident[:12]}")
    if not removed:
        click.echo("nothing to remove")

"""`fumehood gc`: remove what has no living owner."""

from __future__ import annotations

import click


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be removed, remove nothing.")
def gc(dry_run: bool) -> None:
    """Remove containers that have no living owner, and copies of images that are gone.

    Runs that are going on keep theirs.

    \b
    Example:
      fumehood gc --dry-run
    """
    import anyio

    from harness.app.sweep import sweep

    removed = anyio.run(sweep, dry_run)
    verb = "would remove" if dry_run else "removed"
    for name in removed:
        click.echo(f"{verb} {name}")
    if not removed:
        click.echo("nothing to remove")

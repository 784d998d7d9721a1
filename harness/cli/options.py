"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

STORE = click.option(
    "--store",
    type=click.Path(path_type=Path),
    default=Path(".fumehood"),
    show_default=True,
    help="Folder of the runs and their evidence.",
)
FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people, json for programs.",
)

"""JSON as commands print it."""

from __future__ import annotations

from typing import Any

import click


def print_json(document: Any) -> None:
    """Plain data with structs anywhere in it, indented and in ASCII."""
    import json

    import msgspec

    click.echo(json.dumps(msgspec.to_builtins(document), indent=2))

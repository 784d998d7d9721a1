"""`fumehood pack`: validate packs, and show what is in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from harness.cli.options import FORMAT

_PATH = click.Path(exists=True, path_type=Path)
_COLUMNS = ("id", "family", "bucket", "trials", "holdout", "tools", "checks")
_NARROW = ("id", "bucket", "trials", "holdout", "checks")


@click.group()
def pack() -> None:
    """Validate and show packs.

    \b
    Example:
      fumehood pack check packs/core
    """


@pack.command()
@click.argument("paths", nargs=-1, required=True, type=_PATH)
@FORMAT
@click.pass_context
def check(ctx: click.Context, paths: tuple[Path, ...], form: str) -> None:
    """Validate packs: every problem at once, with file, line and column; exit 2 if there is any.

    \b
    Example:
      fumehood pack check packs/core packs/security
    """
    results = [_check(path) for path in paths]
    if form == "json":
        click.echo(json.dumps({"ok": all(r["ok"] for r in results), "packs": results}, indent=2))
    else:
        for result in results:
            _print_result(result)
        if found := sum(len(result["problems"]) for result in results):
            click.echo(f"{found} problem{'' if found == 1 else 's'}", err=True)
    if not all(result["ok"] for result in results):
        ctx.exit(2)


@pack.command()
@click.argument("path", metavar="PACK", type=_PATH)
@click.argument("scenario", required=False)
@FORMAT
def show(path: Path, scenario: str | None, form: str) -> None:
    """Show a pack's scenarios, counts and bars; with SCENARIO, that one in full.

    \b
    Example:
      fumehood pack show packs/core
      fumehood pack show packs/core returns-premium --format json
    """
    from harness.app.packs import load
    from harness.errors import UsageError
    from harness.packs.summary import detail_of, summary_of

    loaded = load(path)
    if scenario is None:
        data = summary_of(loaded)
    else:
        found = next((each for each in loaded.scenarios if each.id == scenario), None)
        if found is None:
            raise UsageError(f"no scenario {scenario!r} in {path}", f"list them with: fumehood pack show {path}")
        data = detail_of(found)
    if form == "json":
        click.echo(json.dumps(data, indent=2))
    elif scenario is None:
        _print_summary(data)
    else:
        _print_detail(data)


def _check(path: Path) -> dict[str, Any]:
    import msgspec

    from harness.app.packs import load
    from harness.errors import PackError
    from harness.packs.summary import tools_of, workspaces_of

    try:
        loaded = load(path)
    except PackError as error:
        if not error.problems:
            raise
        return {"path": str(path), "ok": False, "problems": msgspec.to_builtins(error.problems)}
    counts = {"scenarios": len(loaded.scenarios), "tools": len(tools_of(loaded)), "workspaces": workspaces_of(loaded)}
    return {"path": str(path), "ok": True, **counts, "problems": []}


def _print_result(result: dict[str, Any]) -> None:
    from harness.report.terminal import one_line

    if result["ok"]:
        counted = [_count(result, what) for what in ("scenario", "tool", "workspace")]
        click.echo(f"{one_line(result['path'])}: ok, {', '.join(filter(None, counted))}")
    for problem in result["problems"]:
        click.echo(one_line("{file}:{line}:{column}: {message}".format(**problem)))


def _count(result: dict[str, Any], what: str) -> str:
    n = result[f"{what}s"]
    return f"{n} {what}{'' if n == 1 else 's'}" if n else ""


def _print_summary(data: dict[str, Any]) -> None:
    import sys

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from harness.report.terminal import clean, one_line

    def cell(value: Any) -> Text:
        return Text(one_line(", ".join(value) if isinstance(value, list) else str(value)))

    click.echo(one_line(f"{data['name']} {data['version']}  {data['digest']}"))
    if data["description"]:
        click.echo(clean(data["description"]))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    # Piped output has no width of its own; 160 keeps one scenario on one line in most packs.
    console = Console(width=None if sys.stdout.isatty() else 160)
    columns = _COLUMNS if console.width >= 120 else _NARROW
    for name in columns:
        right = name == "trials"
        table.add_column(name, overflow="fold", justify="right" if right else "left", no_wrap=name == "id")
    for row in data["scenarios"]:
        shown = {**row, "holdout": "yes" if row["holdout"] else ""}
        table.add_row(*(cell(shown[name]) for name in columns))
    console.print(table)
    for row in data["scenarios"]:
        if "workspace" in row:
            tests = f", hidden tests in {row['verify']}" if "verify" in row else ""
            click.echo(one_line(f"{row['id']}: workspace of {row['workspace']} files{tests}"))
    for name in ("families", "buckets", "bars"):
        if data[name]:
            click.echo(one_line(f"{name}: " + ", ".join(f"{key} {value}" for key, value in data[name].items())))


def _print_detail(data: dict[str, Any]) -> None:
    from harness.packs.summary import yaml_of
    from harness.report.terminal import clean

    click.echo(clean(yaml_of(data)), nl=False)

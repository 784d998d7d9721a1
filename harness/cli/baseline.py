"""`fumehood baseline`: save, list, show, promote and delete what later runs are compared with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import BASELINES, FORMAT, STORE
from harness.cli.output import print_json

if TYPE_CHECKING:
    from harness.app.baselines import Baseline

TRUST = click.Choice(["candidate", "reviewed", "golden"])


@click.group()
def baseline() -> None:
    """Save, list, show, promote and delete baselines.

    A baseline is a run's verdicts frozen under a name, in one file that can be kept in git. Without --dir it is in
    `baselines` of the store.

    \b
    Example:
      fumehood baseline save golden last --trust golden --dir baselines
    """


@baseline.command()
@click.argument("name")
@click.argument("run")
@click.option("--trust", type=TRUST, default="candidate", show_default=True, help="How far it is trusted.")
@click.option("--by", default="", metavar="WHO", help="Who vouches for it; stays in the file.")
@click.option("--force", is_flag=True, help="Replace a baseline of this name.")
@click.option(
    "--accept-inconclusive",
    "accepted",
    metavar="REASON",
    help="Save also a run that is unsafe, incomplete or not judged; the reason is shown for ever after.",
)
@BASELINES
@STORE
@FORMAT
def save(form: str, folder: Path | None, store: Path, **given: Any) -> None:
    """Freeze RUN as baseline NAME.

    The run must be whole and sealed, and its evidence unchanged. One that ended with exit code 3, 4 or 6 is
    refused without --accept-inconclusive.

    \b
    Example:
      fumehood baseline save golden last --trust reviewed --by ada
      fumehood baseline save golden 20250304-0506 --dir baselines --force
    """
    from harness.app.baselines import SaveRequest, folder_of
    from harness.app.baselines import save as freeze

    _print_one(freeze(SaveRequest(folder=folder_of(store, folder), store=store, **given)), form)


@baseline.command(name="list")
@BASELINES
@STORE
@FORMAT
def list_(folder: Path | None, store: Path, form: str) -> None:
    """List the baselines, with those that cannot be read.

    \b
    Example:
      fumehood baseline list --dir baselines
    """
    from harness.app.baselines import folder_of, listing

    found = list(listing(folder_of(store, folder)))
    if form == "json":
        rows = [{"name": one.name, "problem": one.problem, **_facts(one.baseline)} for one in found]
        _print_json({"baselines": rows})
        return
    for one in found:
        _line(f"{one.name}: {_headline(one.baseline) if one.baseline else f'cannot be read: {one.problem}'}")
    if not found:
        where = click.format_filename(folder_of(store, folder))
        click.echo(f"no baselines in {where}; fumehood baseline save makes one", err=True)


@baseline.command()
@click.argument("name")
@BASELINES
@STORE
@FORMAT
def show(name: str, folder: Path | None, store: Path, form: str) -> None:
    """Show baseline NAME: of what run, how far trusted and by whom, and its rates.

    \b
    Example:
      fumehood baseline show golden
    """
    from harness.app.baselines import folder_of, load

    _print_one(load(folder_of(store, folder), name), form)


@baseline.command()
@click.argument("name")
@click.option("--trust", type=TRUST, required=True, help="How far it is trusted from now on.")
@click.option("--by", default="", metavar="WHO", help="Who vouches for it; stays in the file.")
@click.option("--force", is_flag=True, help="Also a step back.")
@BASELINES
@STORE
@FORMAT
def promote(form: str, folder: Path | None, store: Path, **given: Any) -> None:
    """Trust baseline NAME further; every step stays in its file.

    \b
    Example:
      fumehood baseline promote golden --trust golden --by ada
    """
    from harness.app.baselines import folder_of
    from harness.app.baselines import promote as raise_trust

    _print_one(raise_trust(folder_of(store, folder), **given), form)


@baseline.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete it without asking back.")
@BASELINES
@STORE
def delete(name: str, yes: bool, folder: Path | None, store: Path) -> None:
    """Delete baseline NAME; asks for --yes.

    \b
    Example:
      fumehood baseline delete old --yes
    """
    from harness.app.baselines import delete as remove
    from harness.app.baselines import folder_of
    from harness.errors import UsageError

    if not yes:
        raise UsageError(f"deleting baseline {name[:100]!r} cannot be undone", "add --yes to delete it")
    remove(folder_of(store, folder), name)
    click.echo(f"deleted baseline {name}", err=True)


def _print_one(found: Baseline, form: str) -> None:
    if form == "json":
        _print_json(_facts(found))
        return
    header = found.record.header
    _line(f"baseline {found.name}: {_headline(found)}")
    _line(f"run {header.run_id} of {header.created}, fumehood {header.harness}, git {header.git or 'none'}")
    for agent in header.agents:
        _line(f"agent {agent.name}: {agent.image} {agent.digest}")
    for rate in header.summary.rates:
        _line(f"{rate.agent}: {rate.property} {rate.passes} of {rate.n}, bar {rate.bar:.4g}")
    for step in found.history:
        _line(f"{step.at}: {step.trust}{f', by {step.by}' if step.by else ''}")
    _line(f"sha256 {found.digest}")


def _headline(found: Baseline) -> str:
    header = found.record.header
    summary = header.summary
    accepted = f"; saved in spite of {'; '.join(header.doubts)}: {header.accepted}" if header.accepted else ""
    pack = f"{header.pack.name} {header.pack.version}"
    return f"{found.trust}, pack {pack}, {summary.passed} of {summary.trials} trials passed{accepted}"


def _facts(found: Baseline | None) -> dict[str, Any]:
    """Everything but the trials."""
    if found is None:
        return {}
    import msgspec

    header = msgspec.to_builtins(found.record.header)
    return {**header, "history": msgspec.to_builtins(found.history), "sha256": found.digest}


def _line(text: str) -> None:
    from harness.report.terminal import one_line

    click.echo(one_line(text))


def _print_json(value: Any) -> None:
    from harness.report.view import inert

    print_json(inert(value))

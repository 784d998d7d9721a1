"""The `fumehood` command: finds each noun's module when it is asked for, so that start-up stays small."""

from __future__ import annotations

import importlib
import sys

import click

from harness import __version__
from harness.errors import FumehoodError, sole

COMMANDS = {
    "audit": "Verify stored evidence.",
    "baseline": "Save, list, show, promote and delete baselines.",
    "budgets": "Propose budgets from a reference run.",
    "compare": "Compare two runs, or a run with a baseline, trial by trial.",
    "doctor": "Check the engine and say what to do about what is wrong.",
    "gc": "Remove containers and image copies that nobody uses any more.",
    "image": "Build agent images and check that they speak the protocol.",
    "init": "Write a pack, an agent and a CI workflow that pass as they stand.",
    "judge": "Measure how far a judge agrees with people's labels.",
    "noise": "Measure what flips between two runs when nothing was changed.",
    "pack": "Validate and show packs.",
    "report": "Write a stored run as one HTML page, or as a release decision.",
    "run": "Run a pack against agents and say yes or no.",
    "runs": "List, show and export stored runs, and follow rates from run to run.",
    "score": "Score a stored run again, without any agent.",
}


class LazyGroup(click.Group):
    """A group whose commands live in `harness.cli.<name>` and are imported when used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"harness.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fumehood")
def cli() -> None:
    """Run agents nobody trusts in containers, score what they really did, and gate on it.

    \b
    Example:
      fumehood run packs/core --agent agent-images/reference-support --trials 3
    """


def main(argv: list[str] | None = None) -> None:
    """Entry point: maps our own errors to their message, remedy and exit code; never a traceback for them."""
    try:
        code = cli.main(args=argv, prog_name="fumehood", standalone_mode=False)
    except FumehoodError as error:
        code = _say(error)
    except BaseExceptionGroup as group:  # what a task group makes of an error
        ours = sole(group)
        if not isinstance(ours, FumehoodError):
            raise
        code = _say(ours)
    except click.ClickException as error:
        error.show()
        code = 2
    except click.exceptions.Abort:
        click.echo("aborted", err=True)
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


def _say(error: FumehoodError) -> int:
    from harness.report.terminal import clean

    click.echo(f"error: {clean(error.message)}", err=True)
    for problem in getattr(error, "problems", ()):
        click.echo(f"  {clean(str(problem))}", err=True)
    if error.remedy:
        click.echo(f"  do: {clean(error.remedy)}", err=True)
    return error.exit_code

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
JUDGE = click.option(
    "--judge",
    metavar="SPEC",
    help="openai:MODEL@URL of a model that judges what rules leave open; its key: FUMEHOOD_JUDGE_API_KEY.",
)
JUDGE_SET = click.option(
    "--judge-set",
    multiple=True,
    metavar="KEY=VALUE",
    help="How it is asked, e.g. samples=5, max_calls=200; repeatable.",
)
FAIL_UNDER = click.option(
    "--fail-under",
    type=click.FloatRange(0, 1),
    metavar="RATE",
    help="Also exit 1 where an agent passes fewer of its trials, e.g. 0.9.",
)
STRICT_CRITICAL = click.option(
    "--strict-critical",
    is_flag=True,
    expose_value=False,
    help="One critical failure blocks. Always so here; accepted for those who come from elsewhere.",
)
BASELINES = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder of the baselines, e.g. one kept in git; without it, that of the store.",
)

"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


class Rate(click.FloatRange):
    """A number from 0 to 1. NaN is none: held against it, nothing is ever too little."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        rate = super().convert(value, param, ctx)
        if math.isnan(rate):
            self.fail("nan is not in the range 0<=x<=1.", param, ctx)
        return rate


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
MODEL_OPTIONS = (
    click.option(
        "--model",
        metavar="SPEC",
        help="Who answers agents' model calls: scripted (the pack), openai:MODEL@URL, cassette:FILE or none.",
    ),
    click.option(
        "--model-map",
        multiple=True,
        metavar="ASKED=USED",
        help="Give agents that ask for ASKED (a glob) the model USED; repeatable, the first that fits.",
    ),
    click.option(
        "--model-set",
        multiple=True,
        metavar="KEY=VALUE",
        help="How an upstream is asked, e.g. timeout_ms=30000, max_cost_usd=2; repeatable.",
    ),
    click.option("--prices", type=click.Path(path_type=Path), metavar="FILE", help="Prices of models, in JSON."),
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Also put the answers of models and tool servers on a cassette.",
    ),
    click.option(
        "--tools", metavar="SPEC", help="cassette:FILE of what answers in place of tool servers, none of which is run."
    ),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All options that say where the answers of models and tool servers come from."""
    for option in reversed(MODEL_OPTIONS):
        command = option(command)
    return command


FAIL_UNDER = click.option(
    "--fail-under",
    type=Rate(),
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

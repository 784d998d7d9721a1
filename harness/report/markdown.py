"""A run as Markdown for the summary page of a CI job, where text from an agent is only ever text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.domain.verdict import ExitCode, Status
from harness.report.markdown_text import bounded, cell, code, plain, table
from harness.report.output import output_file
from harness.report.sweep_pages import sweep_markdown
from harness.report.view import CheckFailure, EndCount, RunView, ScenarioFailure, how_many
from harness.report.words import (
    MEANINGS,
    cost,
    counts,
    interval,
    judge_line,
    out_of_n,
    percent,
    result_of_rate,
    unmet,
    votes,
)

MAX_SCENARIOS, MAX_CHECKS, MAX_CRITERIA, MAX_LINES = 40, 5, 3, 30
MAX_FAILURE_BYTES = 300_000
"""Most of each that is shown; what is more is counted. CI systems refuse a summary of over 1 MiB."""


def write_markdown(path: Path, view: RunView) -> None:
    """UsageError where the file cannot be written."""
    with output_file(path) as file:
        file.write(markdown(view).encode())


def markdown(view: RunView) -> str:
    """GitHub-flavoured Markdown: the verdict and why, properties, failing scenarios, friction apart from quality."""
    word, meaning = MEANINGS[view.verdict.exit_code]
    sign = "✅" if view.verdict.exit_code is ExitCode.OK else "❌"
    sections = [
        [f"## {sign} {word}: {meaning}"],
        [f"Run {code(view.run_id)}, pack {code(view.pack)}, exit {int(view.verdict.exit_code)}."],
        [f"{counts(view.verdict, view.unscored)}."],
        bounded([f"- {code(reason)}" for reason in view.verdict.reasons], MAX_LINES, "- and {} more reasons"),
        *_properties(view),
        *_families(view),
        *_use(view),
        *(sweep_markdown(view.sweep) if view.sweep else ()),
        *_failures(view),
        *_ends("Friction", "The agent could not be run: not counted in rates.", view.friction),
        *_ends("Inconclusive", "Not the agent's doing: no verdict can rest on it.", view.inconclusive),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _properties(view: RunView) -> Iterator[list[str]]:
    rates, out = view.verdict.rates, out_of_n(view.verdict)
    if not rates and not out:
        return
    yield ["### Properties"]
    rows = [
        (cell(rate.agent), rate.property.value, percent(rate.rate), interval(rate.low, rate.high), percent(rate.bar),
         str(rate.n), result_of_rate(rate) if rate.met else f"**{result_of_rate(rate)}**")
        for rate in rates
    ]  # fmt: skip
    yield from table(("agent", "property", "rate:", "95 % interval:", "bar:", "n:", "result"), rows)
    yield bounded([f"- {code(line)}" for line in out], MAX_LINES, "- and {} more")


def _families(view: RunView) -> Iterator[list[str]]:
    if view.families:
        yield ["### Families"]
        rows = [
            (cell(row.agent), cell(row.family), percent(row.rate) if row.n else "none", interval(row.low, row.high),
             str(row.n), str(row.not_scored))
            for row in view.families
        ]  # fmt: skip
        columns = ("agent", "family", "passed:", "95 % interval:", "n:", "not scored:")
        yield from table(columns, rows)


def _use(view: RunView) -> Iterator[list[str]]:
    verdict = view.verdict
    if verdict.use or verdict.judge:
        yield ["### Usage"]
    if verdict.use:
        rows = [
            (cell(row.agent), str(row.trials), f"{row.wall_ms_mean / 1000:.2f}", f"{row.wall_ms_max / 1000:.2f}",
             str(row.steps), str(row.tokens), plain(cost(row.cost_usd, row.cost_known)))
            for row in verdict.use
        ]  # fmt: skip
        columns = ("agent", "trials:", "mean s:", "max s:", "steps:", "tokens:", "cost:")
        yield from table(columns, rows)
    if verdict.judge:
        yield [code(judge_line(view.judges, verdict.judge))]


def _failures(view: RunView) -> Iterator[list[str]]:
    if not view.failures:
        return
    yield ["### Scenarios that fail or are not scored"]
    lines: list[str] = []
    size = shown = 0
    for failure in view.failures[:MAX_SCENARIOS]:
        found = list(_scenario(failure))
        size += sum(len(line.encode()) for line in found)
        if size > MAX_FAILURE_BYTES:
            break
        lines += found
        shown += 1
    more = len(view.failures) - shown + view.more_failures
    yield [*lines, *([f"- and {more} more scenarios"] if more else [])]


def _scenario(failure: ScenarioFailure) -> Iterator[str]:
    yield f"- {code(failure.scenario)} by {code(failure.agent)}: {how_many(failure)}"
    for check in failure.checks[:MAX_CHECKS]:
        yield from _check(check)
    if len(failure.checks) > MAX_CHECKS:
        yield f"  - and {len(failure.checks) - MAX_CHECKS} more checks"


def _check(check: CheckFailure) -> Iterator[str]:
    state = "not scored" if check.status is Status.NOT_SCORED else "failed"
    times = f" in {check.trials} trials" if check.trials > 1 else ""
    kind = f"({check.severity}, {check.property.value.replace('_', ' ')})"
    yield f"  - {code(check.check)} {kind} {state}{times}: {code(check.reason)}, evidence {code(check.journal)}"
    found = unmet(check.judged)
    for one in found[:MAX_CRITERIA]:
        quote = f", quote {code(one.quote)}" if one.quote else ""
        said = votes(one)
        yield f"    - not met ({said}): {code(one.criterion)}{quote}"
    if check.judged is not None:
        more = f", and {len(found) - MAX_CRITERIA} more criteria not met" if len(found) > MAX_CRITERIA else ""
        yield f"    - judge {code(check.judged.model)}, agreement {percent(check.judged.agreement)}{more}"


def _ends(title: str, meaning: str, ends: Sequence[EndCount]) -> Iterator[list[str]]:
    if ends:
        yield [f"### {title}"]
        yield [meaning]
        lines = [
            f"- {end.count} × {code(end.end)} of {code(end.agent)}, blame {code(end.blame)}: {code(end.reason)}"
            for end in ends
        ]
        yield bounded(lines, MAX_LINES, "- and {} more")

"""A run as Markdown for the summary page of a CI job, where text from an agent is only ever text.

All text that is not ours stands in code spans: no renderer looks for HTML, links, images, mentions, references or
bare addresses there. That holds for names too, which pack and agent authors choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.domain.verdict import ExitCode, Status
from harness.report.output import output_file
from harness.report.terminal import one_line
from harness.report.view import CheckFailure, EndCount, RunView, ScenarioFailure, how_many
from harness.report.words import MEANINGS, cost, counts, interval, judge_line, out_of_n, percent, result_of_rate, votes

MAX_SCENARIOS, MAX_CHECKS, MAX_CRITERIA, MAX_LINES, MAX_ROWS = 40, 5, 3, 30, 100
MAX_FAILURE_BYTES = 300_000
"""Most of each that is shown; what is more is counted. CI systems refuse a summary of over 1 MiB."""
_TEXT, _NAME = 300, 100


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
        [f"Run {_code(view.run_id)}, pack {_code(view.pack)}, exit {int(view.verdict.exit_code)}."],
        [f"{counts(view.verdict, view.unscored)}."],
        _bounded([f"- {_code(reason)}" for reason in view.verdict.reasons], MAX_LINES, "- and {} more reasons"),
        *_properties(view),
        *_families(view),
        *_use(view),
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
        (_cell(rate.agent), rate.property.value, percent(rate.rate), interval(rate.low, rate.high), percent(rate.bar),
         str(rate.n), result_of_rate(rate) if rate.met else f"**{result_of_rate(rate)}**")
        for rate in rates
    ]  # fmt: skip
    yield from _table(("agent", "property", "rate:", "95 % interval:", "bar:", "n:", "result"), rows)
    yield _bounded([f"- {_code(line)}" for line in out], MAX_LINES, "- and {} more")


def _families(view: RunView) -> Iterator[list[str]]:
    if view.families:
        yield ["### Families"]
        rows = [
            (_cell(row.agent), _cell(row.family), percent(row.rate) if row.n else "none", interval(row.low, row.high),
             str(row.n), str(row.not_scored))
            for row in view.families
        ]  # fmt: skip
        columns = ("agent", "family", "passed:", "95 % interval:", "n:", "not scored:")
        yield from _table(columns, rows)


def _use(view: RunView) -> Iterator[list[str]]:
    verdict = view.verdict
    if verdict.use or verdict.judge:
        yield ["### Use"]
    if verdict.use:
        rows = [
            (_cell(row.agent), str(row.trials), f"{row.wall_ms_mean / 1000:.2f}", f"{row.wall_ms_max / 1000:.2f}",
             str(row.steps), str(row.tokens), _plain(cost(row.cost_usd, row.cost_known)))
            for row in verdict.use
        ]  # fmt: skip
        columns = ("agent", "trials:", "mean s:", "max s:", "steps:", "tokens:", "cost:")
        yield from _table(columns, rows)
    if verdict.judge:
        yield [_code(judge_line(view.judges, verdict.judge))]


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
    yield f"- {_code(failure.scenario)} by {_code(failure.agent)}: {how_many(failure)}"
    for check in failure.checks[:MAX_CHECKS]:
        yield from _check(check)
    if len(failure.checks) > MAX_CHECKS:
        yield f"  - and {len(failure.checks) - MAX_CHECKS} more checks"


def _check(check: CheckFailure) -> Iterator[str]:
    state = "not scored" if check.status is Status.NOT_SCORED else "failed"
    times = f" in {check.trials} trials" if check.trials > 1 else ""
    kind = f"({check.severity}, {check.property.value.replace('_', ' ')})"
    yield f"  - {_code(check.check)} {kind} {state}{times}: {_code(check.reason)}, evidence {_code(check.journal)}"
    unmet = [one for one in (check.judged.criteria if check.judged else ()) if one.met is not True]
    for one in unmet[:MAX_CRITERIA]:
        quote = f", quote {_code(one.quote)}" if one.quote else ""
        said = votes(one.yes, one.no, one.unclear, one.unread)
        yield f"    - not met ({said}): {_code(one.criterion)}{quote}"
    if check.judged is not None:
        more = f", and {len(unmet) - MAX_CRITERIA} more criteria not met" if len(unmet) > MAX_CRITERIA else ""
        yield f"    - judge {_code(check.judged.model)}, agreement {percent(check.judged.agreement)}{more}"


def _ends(title: str, meaning: str, ends: Sequence[EndCount]) -> Iterator[list[str]]:
    if ends:
        yield [f"### {title}"]
        yield [meaning]
        lines = [
            f"- {end.count} × {_code(end.end)} of {_code(end.agent)}, blame {_code(end.blame)}: {_code(end.reason)}"
            for end in ends
        ]
        yield _bounded(lines, MAX_LINES, "- and {} more")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """A column named with a colon at its end is aligned right."""
    if rows:
        head = [f"| {' | '.join(name.rstrip(':') for name in columns)} |"]
        head.append(f"|{'|'.join('---:' if name.endswith(':') else '---' for name in columns)}|")
        yield head + [f"| {' | '.join(row)} |" for row in rows[:MAX_ROWS]]
        if len(rows) > MAX_ROWS:
            yield [f"and {len(rows) - MAX_ROWS} more rows"]


def _bounded(lines: list[str], limit: int, more: str) -> list[str]:
    return lines[:limit] + ([more.format(len(lines) - limit)] if len(lines) > limit else [])


def _cell(text: str) -> str:
    """In a table a bar ends the cell even in a code span, and renderers differ on how to escape it."""
    return _code(text.replace("|", "¦"), _NAME)


def _code(text: str, limit: int = _TEXT) -> str:
    """A code span of one line, fenced by more backticks than the text has in a row."""
    inert = one_line(text, limit)
    if len(inert) > limit:  # what escapes have made of it
        inert = inert[: limit - 1] + "…"
    if not inert.strip():
        return "(empty)"
    fence = "`" * (max(map(len, re.findall("`+", inert)), default=0) + 1)
    pad = " " if inert[0] in " `" or inert[-1] in " `" else ""
    return f"{fence}{pad}{inert}{pad}{fence}"


def _plain(text: str) -> str:
    return text.replace("<", "&lt;")

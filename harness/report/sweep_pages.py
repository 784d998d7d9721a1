"""A sweep in words, on a terminal and in Markdown: the matrix of agents and scenarios, and how each agent fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.report.fit import Compatibility, Evidence, Fit
from harness.report.markdown_text import MAX_ROWS, bounded, cell, code, table
from harness.report.page import Page
from harness.report.sweep import Cell, Sweep, cells_of
from harness.report.words import numbered

MAX_SCENARIOS = 100
PAGE_WIDTH, NAME_WIDTH = 78, 30
"""Of a page of the matrix, and the most of it that names of scenarios take; in characters."""
MARKDOWN_AGENTS = 8
"""Agents beside each other in one table of Markdown."""
MAX_TABLES = 8
_WIDEST = len("not started")
_LEGEND = "passed/trials; not built, not started, not spoken: no matter of quality, and in no rate"


def render_sweep(page: Page, sweep: Sweep) -> None:
    """The matrix, scenarios down and as many agents across as the page bears, then how each agent fits its box."""
    cells = cells_of(sweep)
    shown = sweep.scenarios[:MAX_SCENARIOS]
    pages = list(_pages(sweep))
    for number, agents in enumerate(pages, 1):
        more = "" if len(pages) == 1 else f", part {number} of {len(pages)} ({len(sweep.agents)} agents)"
        rows = [[name, *(_word(cells.get((agent, name))) for agent in agents)] for name in shown]
        page.table(f"Matrix{more}", ("scenario", *agents), rows, right=())
    if len(sweep.scenarios) > len(shown):
        page.line(f"and {len(sweep.scenarios) - len(shown)} more scenarios, not shown", indent=2)
    page.line(_LEGEND, "dim")
    fits = [(one.agent, fit_word(one), *_stages(one)) for one in sweep.compatibility]
    page.table("Compatibility (by what was seen)", ("agent", "it", "built", "started", "spoke"), fits, right=(2, 3, 4))
    for one in sweep.compatibility:
        for line in _why(one):
            page.line(f"{one.agent}: {line}", "dim", indent=2)


def sweep_markdown(sweep: Sweep) -> Iterator[list[str]]:
    """The same as sections of Markdown."""
    cells = cells_of(sweep)
    yield ["### Matrix"]
    starts = range(0, len(sweep.agents), MARKDOWN_AGENTS)
    for start in starts[:MAX_TABLES]:
        agents = sweep.agents[start : start + MARKDOWN_AGENTS]
        rows = [[cell(name), *(_word(cells.get((agent, name))) for agent in agents)] for name in sweep.scenarios]
        yield from table(("scenario", *map(cell, agents)), rows)
    if len(starts) > MAX_TABLES:
        yield [f"and {len(sweep.agents) - MAX_TABLES * MARKDOWN_AGENTS} more agents"]
    yield [f"{_LEGEND[0].upper()}{_LEGEND[1:]}."]
    yield ["### Compatibility"]
    yield ["By what was seen at the boundary."]
    fits = [[cell(one.agent), cell(fit_word(one)), *_stages(one)] for one in sweep.compatibility]
    yield from table(("agent", "it", "built:", "started:", "spoke:"), fits)
    lines = [f"- {code(one.agent)}: {code(line)}" for one in sweep.compatibility for line in _why(one)]
    yield bounded(lines, MAX_ROWS, "- and {} more")


def fit_word(one: Compatibility) -> str:
    """`native`, `needs the network (10.0.0.1:443)`, ..."""
    if one.fit is Fit.NEEDS and one.needs:
        return f"needs {'; '.join(one.needs)}"
    return one.fit.value


def _why(one: Compatibility) -> Iterator[str]:
    """What was done for an agent, and what it tried; the reasons of friction have a table of their own."""
    yield from one.adapted
    if one.fit is Fit.QUARANTINED:
        yield from map(_line, one.evidence)


def _line(item: Evidence) -> str:
    """What was seen, and where it stands."""
    return f"{item.what[:300]} [{', '.join(filter(None, (item.journal, numbered(item.lines))))}]"


def _pages(sweep: Sweep) -> Iterator[Sequence[str]]:
    """Agents by pages: each column is as wide as its name or the longest word in it, and two apart."""
    used = room = PAGE_WIDTH - min(NAME_WIDTH, max(map(len, (*sweep.scenarios, "scenario"))))
    page: list[str] = []
    for agent in sweep.agents:
        width = 2 + max(_WIDEST, min(len(agent), NAME_WIDTH))
        if page and used < width:
            yield page
            page, used = [], room
        page.append(agent)
        used -= width
    if page:
        yield page


def _word(one: Cell | None) -> str:
    """`2/3`; then what is no quality, each by its name and, beside other trials, its number."""
    if one is None:
        return "-"
    rest = {
        "not scored": one.not_scored,
        "not built": one.not_built,
        "not started": one.not_started,
        "not spoken": one.not_spoken,
        "inconclusive": one.inconclusive,
    }
    found = {word: count for word, count in rest.items() if count}
    if not one.trials and len(found) == 1:
        return next(iter(found))
    rate = [f"{one.passed}/{one.trials}"] if one.trials else []
    return ", ".join([*rate, *(f"{count} {word}" for word, count in found.items())])


def _stages(one: Compatibility) -> tuple[str, str, str]:
    return (f"{one.built}/{one.trials}", f"{one.started}/{one.trials}", f"{one.spoke}/{one.trials}")

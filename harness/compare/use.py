"""What trials used, before and after: numbers with their drift, and which tools in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

from harness.domain.comparison import Delta, Metric, Pair, ToolChange
from harness.domain.record import TrialRow
from harness.stats.paired import sign_test

_EPSILON = 1e-9
"""A change of exactly the threshold is within it, however it is rounded."""


_METRICS: dict[Metric, Callable[[TrialRow], float | None]] = {
    "latency_ms": lambda row: row.usage.wall_ms,
    "cost_usd": lambda row: row.usage.cost_usd if row.usage.cost_known else None,
    "tokens": lambda row: row.usage.tokens,
    "steps": lambda row: row.usage.steps,
}


def deltas_of(pairs: Iterable[Pair], drift: float) -> tuple[Delta, ...]:
    """Each number of each agent that is not 0 throughout; `drift`: relative threshold of a change of medians."""
    return tuple(delta for agent, rows in _counted(pairs).items() for delta in _deltas(agent, rows, drift))


def tools_of(pairs: Iterable[Pair]) -> tuple[ToolChange, ...]:
    """Each scenario whose tool calls differ in any pair."""
    found = []
    for agent, rows in _counted(pairs).items():
        scenarios: dict[str, list[tuple[TrialRow, TrialRow]]] = {}
        for base, candidate in rows:
            scenarios.setdefault(candidate.key.scenario, []).append((base, candidate))
        found += [
            _tool_change(agent, name, both)
            for name, both in scenarios.items()
            if any(b.tools != c.tools for b, c in both)
        ]
    return tuple(found)


def _counted(pairs: Iterable[Pair]) -> dict[str, list[tuple[TrialRow, TrialRow]]]:
    """By agent, the rows of pairs that count on both sides: also fails use something."""
    found: dict[str, list[tuple[TrialRow, TrialRow]]] = {}
    for pair in pairs:
        if pair.base is not None and pair.candidate is not None and pair.base.counts and pair.candidate.counts:
            found.setdefault(pair.key.agent, []).append((pair.base, pair.candidate))
    return found


def _deltas(agent: str, rows: Sequence[tuple[TrialRow, TrialRow]], drift: float) -> Iterator[Delta]:
    for metric, read in _METRICS.items():
        values = [
            (before, after)
            for base, candidate in rows
            if (before := read(base)) is not None and (after := read(candidate)) is not None
        ]
        if not any(before or after for before, after in values):
            continue
        low, high = median(before for before, _ in values), median(after for _, after in values)
        change = (high - low) / low if low else None if high else 0.0
        beyond = change is None or abs(change) > drift + _EPSILON
        yield Delta(
            agent=agent,
            metric=metric,
            n=len(values),
            base=low,
            candidate=high,
            change=change,
            drift=("up" if high > low else "down") if beyond else "none",
            test=sign_test(after - before for before, after in values),
        )


def _tool_change(agent: str, scenario: str, rows: Sequence[tuple[TrialRow, TrialRow]]) -> ToolChange:
    before = Counter(tool for base, _ in rows for tool in base.tools)
    after = Counter(tool for _, candidate in rows for tool in candidate.tools)
    differing = [(base.tools, candidate.tools) for base, candidate in rows if base.tools != candidate.tools]
    return ToolChange(
        agent=agent,
        scenario=scenario,
        pairs=len(rows),
        paths=len(differing),
        reordered=sum(sorted(one) == sorted(other) for one, other in differing),
        added=tuple(sorted(set(after) - set(before))),
        removed=tuple(sorted(set(before) - set(after))),
        counts=tuple(
            (tool, before[tool], after[tool]) for tool in sorted({*before, *after}) if before[tool] != after[tool]
        ),
    )

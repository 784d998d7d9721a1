"""Distributions as pictures: histograms in per cent of their width, so that a template only has to place them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

BINS = 36
HEIGHT = 40
_SKEWED = 12.0
"""From this many times the median on, the largest value pushes all others together: then the axis is logarithmic."""


class Bar(Struct, frozen=True):
    """`x` and `width` in per cent, `height` in pixels; `label` says what it stands for."""

    x: float
    width: float
    height: float
    label: str


class Histogram(Struct, frozen=True):
    """One agent's values. `median_x` and `p95_x` in per cent of the width; the rest as words."""

    agent: str
    n: int
    bars: tuple[Bar, ...]
    median_x: float
    p95_x: float
    low: str
    median: str
    p95: str
    high: str


class Figure(Struct, frozen=True):
    """One measure, all agents on one axis from `start` to `stop`; no `rows`: all values are 0."""

    title: str
    scale: str
    start: str
    stop: str
    rows: tuple[Histogram, ...]
    note: str = ""


def figure(title: str, values: Mapping[str, array[float]], words: Callable[[float], str], note: str = "") -> Figure:
    """`values`: of each agent, one a counted trial; agents without any are left out."""
    known = {agent: sorted(found) for agent, found in values.items() if found}
    everything = sorted(value for found in known.values() for value in found)
    if not everything or everything[-1] <= 0:
        return Figure(title, "linear", "", "", (), note)
    axis = _Axis(everything)
    rows = tuple(_histogram(agent, found, axis, words) for agent, found in known.items())
    return Figure(title, axis.scale, words(axis.start), words(axis.stop), rows, note)


class _Axis:
    def __init__(self, everything: Sequence[float]) -> None:
        median, positive = quantile(everything, 0.5), everything[0] > 0
        self._log = positive and everything[-1] > _SKEWED * median
        self.scale = "logarithmic" if self._log else "linear"
        self.start = everything[0] if self._log else 0.0
        self.stop = everything[-1]
        if self._log:
            self._low = math.log(self.start)
            self._span = math.log(self.stop) - self._low

    def place(self, value: float) -> float:
        """0 to 1."""
        if self._log:
            return (math.log(value) - self._low) / self._span
        return value / self.stop

    def value(self, place: float) -> float:
        if self._log:
            return math.exp(self._low + self._span * place)
        return self.stop * place


def _histogram(agent: str, found: Sequence[float], axis: _Axis, words: Callable[[float], str]) -> Histogram:
    counts = [0] * BINS
    for value in found:
        counts[min(BINS - 1, int(axis.place(value) * BINS))] += 1
    most = max(counts)
    bars = tuple(
        Bar(
            x=round(100 * i / BINS, 2),
            width=round(100 / BINS * 0.86, 2),
            height=round(max(1.5, HEIGHT * count / most), 1),
            label=f"{words(axis.value(i / BINS))} to {words(axis.value((i + 1) / BINS))}: {count}",
        )
        for i, count in enumerate(counts)
        if count
    )
    median, p95 = quantile(found, 0.5), quantile(found, 0.95)
    return Histogram(
        agent=agent,
        n=len(found),
        bars=bars,
        median_x=round(100 * axis.place(median), 2),
        p95_x=round(100 * axis.place(p95), 2),
        low=words(found[0]),
        median=words(median),
        p95=words(p95),
        high=words(found[-1]),
    )


def quantile(found: Sequence[float], share: float) -> float:
    """Nearest rank, of sorted values: the smallest that at least `share` of them do not exceed."""
    return found[max(0, math.ceil(share * len(found)) - 1)]

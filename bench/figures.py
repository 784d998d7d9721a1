"""What the bench measures, as plain data: a figure of Fumehood's beside the bare one of the same run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from msgspec import Struct


class Figure(Struct, frozen=True):
    """`ratio`: Fumehood's cost over the bare one, so below 1 Fumehood is cheaper. None: nothing to compare with."""

    name: str
    unit: str
    fumehood: float
    bare: float | None = None
    bare_is: str = ""
    ratio: float | None = None


def median(values: Sequence[float]) -> float:
    """The median, rounded to what a reader can use."""
    return round(statistics.median(values), 3)


def quantile(values: Sequence[float], q: float) -> float:
    """The smallest value that at least the share `q` of `values` does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(q * len(ordered)) - 1))]


def cost(name: str, unit: str, ours: Sequence[float], bare: Sequence[float], bare_is: str) -> Figure:
    """Medians of paired samples, and the median of the ratios of the pairs: noise hits both of a pair."""
    ratio = median([a / b for a, b in zip(ours, bare, strict=True)])
    return Figure(name, unit, median(ours), median(bare), bare_is, ratio)

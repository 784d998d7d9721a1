"""How much two runs of the very same configuration differ: what every flip count is to be read against."""

from __future__ import annotations

from collections.abc import Iterable

from harness.domain.comparison import NoiseFloor, Pair
from harness.stats.intervals import wilson


def noise_floor(pairs: Iterable[Pair]) -> NoiseFloor:
    """The noise floor that the pairs of two runs of one configuration show; of no pair at all, an interval of 0..1."""
    comparable = [pair for pair in pairs if pair.comparable]
    flips = sum(pair.flipped for pair in comparable)
    n = len(comparable)
    return NoiseFloor(n, flips, flips / n if n else 0.0, *wilson(flips, n))

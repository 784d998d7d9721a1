"""How much two runs of the very same configuration differ: what every flip count is to be read against."""

from __future__ import annotations

from collections.abc import Iterable

from harness.domain.comparison import NoiseFloor, Pair, PairKind
from harness.stats.intervals import wilson

FLIPS = (PairKind.REGRESSED, PairKind.IMPROVED)


def noise_floor(pairs: Iterable[Pair]) -> NoiseFloor:
    """The noise floor that the pairs of two runs of one configuration show; of no pair at all, an interval of 0..1."""
    comparable = [pair for pair in pairs if pair.comparable]
    flips = sum(pair.kind in FLIPS for pair in comparable)
    n = len(comparable)
    return NoiseFloor(n, flips, flips / n if n else 0.0, *wilson(flips, n))

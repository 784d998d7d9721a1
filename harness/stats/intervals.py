"""Intervals of rates: pure numbers, no rounding, no formatting."""

from __future__ import annotations

from math import sqrt

from harness.errors import FumehoodError

Z = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


def wilson(passes: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % score interval (low, high) of passes / n, within 0..1; n = 0 says nothing: (0.0, 1.0).

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927) 209-212; without continuity correction (method 3 of Newcombe, Statist. Med. 17 (1998) 857).
    """
    if not 0 <= passes <= n:
        raise FumehoodError(f"expected 0 <= passes <= n, came passes {passes} and n {n}")
    if n == 0:
        return 0.0, 1.0
    rate = passes / n
    scale = 1.0 + Z * Z / n
    centre = (rate + Z * Z / (2 * n)) / scale
    half = Z * sqrt(rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)) / scale
    # At the ends the exact bounds are 0 and 1; rounding must not push them past the rate itself.
    low = 0.0 if passes == 0 else min(rate, max(0.0, centre - half))
    high = 1.0 if passes == n else max(rate, min(1.0, centre + half))
    return low, high

"""Paired comparison: exact tests on the pairs that differ, and what their number can and cannot show."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from msgspec import Struct

from harness.errors import FumehoodError
from harness.stats.intervals import wilson

READ_THEM, SOME, MANY = 1, 6, 25
"""Least discordant pairs of each reading. Below 6 not even a unanimous split reaches p < 0.05: 2 x 0.5^5 = 0.0625."""
USUAL = 0.05


class McNemar(Struct, frozen=True):
    """Pass or fail of the same cases before and after: n pairs, of which `lost` passed before only, `gained` after.

    `before` and `after`: Wilson 95 % intervals of either side's pass rate. `p_value` is two-sided and exact.
    """

    n: int
    both: int
    neither: int
    lost: int
    gained: int
    before: tuple[float, float]
    after: tuple[float, float]
    p_value: float

    @property
    def discordant(self) -> int:
        return self.lost + self.gained

    @property
    def reading(self) -> str:
        """What the discordant pairs can and cannot show, in a plain sentence."""
        return reading(self.discordant, self.p_value)


class SignTest(Struct, frozen=True):
    """Signs of paired differences, ties dropped; `p_value` two-sided and exact, 1.0 where only ties are left."""

    up: int
    down: int
    ties: int
    p_value: float


def mcnemar(pairs: Iterable[tuple[bool, bool]]) -> McNemar:
    """Exact McNemar test of (passed before, passed after) pairs: is a change either way as likely as the other?

    Under that hypothesis `lost` of the discordant pairs is binomial with 1/2; p is twice the smaller tail, at most 1.
    Source: Q. McNemar, Psychometrika 12 (1947) 153-157, in its exact conditional form.
    """
    cells = [0, 0, 0, 0]
    for before, after in pairs:
        cells[2 * bool(before) + bool(after)] += 1
    neither, gained, lost, both = cells
    n = sum(cells)
    return McNemar(
        n=n,
        both=both,
        neither=neither,
        lost=lost,
        gained=gained,
        before=wilson(both + lost, n),
        after=wilson(both + gained, n),
        p_value=_fair_coin(lost, lost + gained),
    )


def sign_test(deltas: Iterable[float]) -> SignTest:
    """Exact sign test of paired differences (after - before); ties say nothing of a direction and are dropped.

    Source: J. Arbuthnott (1710); W. J. Conover, "Practical Nonparametric Statistics", 3rd ed. (1999), section 3.4.
    """
    up = down = ties = 0
    for delta in deltas:
        if not isfinite(delta):
            raise FumehoodError(f"expected finite differences, came {delta}")
        up, down, ties = up + (delta > 0), down + (delta < 0), ties + (delta == 0)
    return SignTest(up, down, ties, _fair_coin(up, up + down))


def reading(discordant: int, p_value: float) -> str:
    """A plain sentence on what this many differing pairs, with this p, can and cannot show."""
    pairs = f"{discordant} pair{' differs' if discordant == 1 else 's differ'}"
    if discordant < READ_THEM:
        return "no pair differs: nothing changed here, which does not rule out a small change"
    if discordant < SOME:
        return f"{pairs}: too few for any test, read them one by one"
    seen = p_value < USUAL
    if discordant < MANY:
        word = (
            "the split is lopsided, hardly chance" if seen else "chance may do this, and a real change may hide in it"
        )
        return f"{pairs}: only a lopsided split can show; {word} (p = {p_value:.2g})"
    word = "a real change, not chance" if seen else "no lean either way that chance would not give"
    return f"{pairs}, enough to show a lean: {word} (p = {p_value:.2g})"


def _fair_coin(heads: int, tosses: int) -> float:
    """Two-sided exact p of `heads` of `tosses` of a fair coin; 1.0 of none."""
    if tosses == 0:
        return 1.0
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    return float(binomtest(heads, tosses, 0.5).pvalue)

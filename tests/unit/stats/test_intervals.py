"""Wilson's interval: published values, and what must hold of any interval of a rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import FumehoodError
from harness.stats.intervals import wilson

COUNTS = st.integers(0, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("passes", "n", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0000, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_agrees_with_published_values(passes: int, n: int, low: float, high: float) -> None:
    assert wilson(passes, n) == pytest.approx((low, high), abs=5e-5)


def test_no_trials_say_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(COUNTS)
def test_contains_the_rate_and_stays_within_0_and_1(counts: tuple[int, int]) -> None:
    passes, n = counts
    low, high = wilson(passes, n)
    assert 0.0 <= low <= (passes / n if n else 0.5) <= high <= 1.0


@given(COUNTS)
def test_failures_mirror_passes(counts: tuple[int, int]) -> None:
    passes, n = counts
    low, high = wilson(passes, n)
    assert wilson(n - passes, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))))
def test_one_more_pass_moves_both_ends_up(counts: tuple[int, int]) -> None:
    passes, n = counts
    (low, high), (next_low, next_high) = wilson(passes, n), wilson(passes + 1, n)
    assert low < next_low
    assert high < next_high or next_high == 1.0


@given(st.integers(1, 1000), st.integers(2, 50))
def test_more_trials_of_the_same_rate_narrow_it(n: int, factor: int) -> None:
    (low, high), (more_low, more_high) = wilson(n, 2 * n), wilson(n * factor, 2 * n * factor)
    assert more_high - more_low < high - low


@pytest.mark.parametrize(("passes", "n"), [(-1, 3), (4, 3), (0, -1)])
def test_counts_that_cannot_be_are_refused(passes: int, n: int) -> None:
    with pytest.raises(FumehoodError, match="expected 0 <= passes <= n"):
        wilson(passes, n)

"""Cohen's kappa against published values and counting by hand, and how often its interval holds the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.agreement import agreement, confusion
from harness.stats.intervals import wilson

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=8)


def pairs_of(table: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        # The first is the example of Cohen (1960), 200 subjects, kappa .492; the others are worked out by hand.
        ([[88, 14, 18], [10, 40, 10], [2, 6, 12]], 0.4915),
        ([[20, 5], [10, 15]], 0.4),
        ([[5, 0], [0, 5]], 1.0),
        ([[0, 5], [5, 0]], -1.0),
        ([[6, 2], [3, 1]], 0.0),
    ],
)
def test_agrees_with_published_values(table: list[list[int]], kappa: float) -> None:
    found = agreement(pairs_of(table))
    assert found.kappa == pytest.approx(kappa, abs=5e-4)


@given(PAIRS)
def test_kappa_is_agreement_beyond_that_of_every_shuffled_pairing(pairs: list[tuple[str, str]]) -> None:
    """pe by enumeration: each label of the first rater against each of the second's, all equally likely."""
    found = agreement(pairs)
    if not pairs:
        assert (found.rate, found.kappa, found.low, found.high) == (None, None, 0.0, 1.0)
        return
    crossed = list(product([a for a, _ in pairs], [b for _, b in pairs]))
    by_chance = Fraction(sum(a == b for a, b in crossed), len(crossed))
    observed = Fraction(sum(a == b for a, b in pairs), len(pairs))
    if by_chance == 1:
        assert found.kappa is found.kappa_low is found.kappa_high is None
    else:
        assert found.kappa == pytest.approx(float((observed - by_chance) / (1 - by_chance)), abs=1e-12)


@given(PAIRS.filter(bool))
def test_interval_holds_kappa_and_is_that_of_the_raw_agreement_rescaled(pairs: list[tuple[str, str]]) -> None:
    found = agreement(pairs)
    assert (found.low, found.high) == wilson(found.agreed, found.n)
    if found.kappa is not None and found.kappa_low is not None and found.kappa_high is not None:
        assert found.kappa_low - 1e-12 <= found.kappa <= found.kappa_high + 1e-12
        assert found.kappa_high <= 1.0
        assert found.kappa_low < found.kappa_high


@given(PAIRS)
def test_raters_and_names_of_labels_do_not_matter(pairs: list[tuple[str, str]]) -> None:
    swapped = agreement([(b, a) for a, b in pairs])
    renamed = agreement([(ord(a), ord(b)) for a, b in pairs])
    assert swapped == renamed == agreement(pairs)


def test_full_agreement_of_few_is_not_certainty() -> None:
    few, many = agreement(pairs_of([[3, 0], [0, 2]])), agreement(pairs_of([[60, 0], [0, 40]]))
    assert few.kappa == many.kappa == 1.0
    assert few.kappa_low is not None
    assert few.kappa_low < 0.2
    assert many.kappa_low is not None
    assert many.kappa_low > 0.9


def test_one_rater_who_always_says_the_same_agrees_by_chance_only() -> None:
    assert agreement([("pass", "pass")] * 6 + [("fail", "pass")] * 4).kappa == 0.0


def two_by_two(n: int) -> Iterator[tuple[int, int, int, int]]:
    for a in range(n + 1):
        for b in range(n + 1 - a):
            yield from ((a, b, c, n - a - b - c) for c in range(n + 1 - a - b))


@pytest.mark.parametrize("n", [10, 24])
def test_interval_holds_the_true_kappa_about_as_often_as_it_says(n: int) -> None:
    """Exact coverage over every table of n subjects, given that kappa is defined: never far below 95 %."""
    covered = dict.fromkeys(product((0.5, 0.7, 0.8), (0.2, 0.5, 0.8, 0.95)), 0.0)
    defined = dict.fromkeys(covered, 0.0)
    for a, b, c, d in two_by_two(n):
        found = agreement(pairs_of([[a, b], [c, d]]))
        if found.kappa_low is None or found.kappa_high is None:
            continue
        ways = comb(n, a) * comb(n - a, b) * comb(n - a - b, c)
        for share, kappa in covered:
            off = share * (1 - share) * (1 - kappa)
            chance = ways * (share - off) ** a * off ** (b + c) * (1 - share - off) ** d
            defined[share, kappa] += chance
            covered[share, kappa] += chance * (found.kappa_low <= kappa <= found.kappa_high)
    assert min(covered[case] / defined[case] for case in covered) > 0.88
    assert sum(covered[case] / defined[case] for case in covered) / len(covered) > 0.94


def test_confusion_counts_each_cell() -> None:
    pairs = [("pass", "pass"), ("pass", "fail"), ("fail", "fail"), ("fail", "fail"), ("fail", "none")]
    assert confusion(pairs, ("pass", "fail"), ("pass", "fail", "none")) == ((1, 1, 0), (0, 2, 1))

"""McNemar's and the sign test against counting every outcome of a fair coin, and what the words say."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import FumehoodError
from harness.stats.intervals import wilson
from harness.stats.paired import mcnemar, reading, sign_test

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=8)


def p_by_enumeration(heads: int, tosses: int) -> float:
    """Share of all sequences of fair tosses at least as far from even as this one."""
    far = abs(2 * heads - tosses)
    outcomes = list(product((0, 1), repeat=tosses))
    return float(Fraction(sum(abs(2 * sum(each) - tosses) >= far for each in outcomes), len(outcomes)))


@given(PAIRS)
def test_mcnemar_counts_and_p_are_those_of_enumeration(pairs: list[tuple[bool, bool]]) -> None:
    found = mcnemar(pairs)
    assert found.lost == sum(before and not after for before, after in pairs)
    assert found.gained == sum(after and not before for before, after in pairs)
    assert found.both + found.neither + found.discordant == found.n == len(pairs)
    assert found.p_value == pytest.approx(p_by_enumeration(found.lost, found.discordant), abs=1e-12)
    assert found.before == wilson(sum(before for before, _ in pairs), len(pairs))
    assert found.after == wilson(sum(after for _, after in pairs), len(pairs))


@given(st.lists(st.sampled_from([-2.5, -1, 0, 0.0, 1e-9, 3]), max_size=8))
def test_sign_test_drops_ties_and_p_is_that_of_enumeration(deltas: list[float]) -> None:
    found = sign_test(deltas)
    assert (found.up, found.down) == (sum(d > 0 for d in deltas), sum(d < 0 for d in deltas))
    assert found.up + found.down + found.ties == len(deltas)
    assert found.p_value == pytest.approx(p_by_enumeration(found.up, found.up + found.down), abs=1e-12)


@given(PAIRS)
def test_going_back_is_the_mirror(pairs: list[tuple[bool, bool]]) -> None:
    there, back = mcnemar(pairs), mcnemar([(after, before) for before, after in pairs])
    assert (there.lost, there.gained) == (back.gained, back.lost)
    assert there.p_value == pytest.approx(back.p_value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_differences_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(FumehoodError, match="expected finite differences"):
        sign_test([1.0, bad])


def split(lost: int, gained: int) -> str:
    return mcnemar([(True, False)] * lost + [(False, True)] * gained + [(True, True)] * 3).reading


def test_the_words_grow_with_the_number_of_pairs_that_differ() -> None:
    assert split(0, 0).startswith("no pair differs")
    assert split(1, 0) == "1 pair differs: too few for any test, read them one by one"
    assert split(5, 0) == "5 pairs differ: too few for any test, read them one by one"
    assert "only a lopsided split can show; the split is lopsided" in split(6, 0)
    assert "a real change may hide in it (p = 0.54)" in split(14, 10)
    assert "enough to show a lean: no lean" in split(14, 11)
    assert "enough to show a lean: a real change" in split(22, 3)


def test_below_six_no_split_can_reach_the_usual_bar_and_from_six_on_one_can() -> None:
    assert min(mcnemar([(True, False)] * n).p_value for n in range(1, 6)) > 0.05
    assert mcnemar([(True, False)] * 6).p_value < 0.05
    assert reading(6, 0.03) != reading(6, 0.2)

"""pass@k and pass^k against counting every sample of trials, and the flake rate."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import FumehoodError
from harness.stats.repeats import flake_rate, pass_at_k, pass_hat_k


@st.composite
def trials_and_k(draw: st.DrawFn) -> tuple[list[bool], int]:
    trials = draw(st.lists(st.booleans(), min_size=1, max_size=8))
    return trials, draw(st.integers(1, len(trials)))


@given(trials_and_k())
def test_both_are_the_share_of_all_samples_of_k_trials(case: tuple[list[bool], int]) -> None:
    trials, k = case
    samples = list(combinations(trials, k))
    n, passes = len(trials), sum(trials)
    assert pass_at_k(n, passes, k) == pytest.approx(sum(map(any, samples)) / len(samples))
    assert pass_hat_k(n, passes, k) == pytest.approx(sum(map(all, samples)) / len(samples))


@given(trials_and_k())
def test_one_trial_is_the_plain_rate_and_more_only_help_one_and_hurt_the_other(case: tuple[list[bool], int]) -> None:
    trials, k = case
    n, passes = len(trials), sum(trials)
    assert pass_at_k(n, passes, 1) == pytest.approx(passes / n)
    assert pass_hat_k(n, passes, 1) == pytest.approx(passes / n)
    assert pass_hat_k(n, passes, k) <= passes / n + 1e-12
    assert pass_at_k(n, passes, k) >= passes / n - 1e-12


def test_known_values() -> None:
    assert pass_hat_k(4, 3, 2) == 0.5
    assert pass_at_k(4, 3, 2) == 1.0
    assert pass_hat_k(1000, 500, 1) == 0.5


@pytest.mark.parametrize(("n", "passes", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4), (0, 0, 1)])
def test_numbers_that_cannot_be_are_refused(n: int, passes: int, k: int) -> None:
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(FumehoodError, match="expected 0 <= passes <= n and 1 <= k <= n"):
            estimate(n, passes, k)


@pytest.mark.parametrize(
    ("cells", "rate"),
    [
        ([], None),
        ([(1, 1), (1, 0)], None),
        ([(3, 3), (3, 0)], 0.0),
        ([(3, 2), (3, 0)], 0.5),
        ([(2, 1), (1, 1)], 1.0),
    ],
)
def test_a_scenario_flakes_where_it_both_passed_and_failed(cells: list[tuple[int, int]], rate: float | None) -> None:
    assert flake_rate(cells) == rate

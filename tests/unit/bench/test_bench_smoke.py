"""The bench runs and reckons rightly; how quick anything is, it never asserts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures import cost, quantile
from bench.memory import measure
from bench.scoring import make_run
from bench.scoring import measure as measure_scoring
from harness.store.store import Store
from harness.store.verify import verify_run


@pytest.mark.anyio
async def test_trials_in_memory_pass_and_are_measured() -> None:
    peak = await measure(3)
    assert peak.trials == 3
    assert peak.rss_mb > 1
    assert peak.ms > 0


def test_stored_trials_are_scored_again_and_measured(tmp_path: Path) -> None:
    make_run(tmp_path, 4)
    scored = measure_scoring(tmp_path)
    assert scored.trials == 4
    assert scored.rss_mb > 1
    assert scored.ms > 0
    run = Store(tmp_path).open_run("last")
    assert list(run.scores(2)) == list(run.scores(1))
    assert verify_run(run.path).ok


def test_ratio_is_the_median_of_the_pairs_not_of_the_sides() -> None:
    figure = cost("x", "ms", [10, 40, 30], [10, 10, 10], "bare")
    assert (figure.fumehood, figure.bare, figure.ratio) == (30, 10, 3)
    # a noisy moment that hits both of a pair leaves the ratio alone
    assert cost("x", "ms", [10, 90, 10], [5, 45, 5], "bare").ratio == 2


@given(st.lists(st.integers(0, 1000), min_size=1), st.floats(0, 1))
def test_quantile_is_a_sample_and_grows_with_its_share(values: list[int], q: float) -> None:
    assert quantile(values, q) in values
    assert min(values) == quantile(values, 0) <= quantile(values, q) <= quantile(values, 1) == max(values)

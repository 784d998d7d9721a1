"""The same configuration run twice: what flips then is noise."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from rich.console import Console

from harness.app import baselines, noise
from harness.app.compare import compared
from harness.app.noise import KeptFloor
from harness.app.run import RunRequest, execute
from harness.compare.diff import Options
from harness.compare.noise import noise_floor
from harness.domain.comparison import Comparison, Pair
from harness.errors import UsageError
from harness.store.store import Store


class Measured(Struct, frozen=True):
    """The floors, by agent, and the trials that flipped."""

    floors: tuple[KeptFloor, ...]
    flipped: tuple[str, ...]


def measure(request: RunRequest, console: Console) -> Measured | None:
    """Run twice, compare, keep. None where the user stopped it. UsageError where the two runs say nothing."""
    runs = []
    for _ in range(2):
        done = execute(request, console)
        if done is None:
            return None
        runs.append(done.view.run_id)
    store = Store(request.store)
    sides = [baselines.record_of_run(store.open_run(run)) for run in runs]
    comparison = compared(sides[0], sides[1], Options(force=True)).comparison
    if not any(pair.comparable for pair in comparison.pairs):
        raise UsageError("the two runs have no trial that can be compared", f"fumehood runs show {runs[0]}")
    return _kept(request.store, comparison)


def _kept(store: Path, comparison: Comparison) -> Measured:
    floors = {agent: noise_floor(_of_agent(comparison.pairs, agent)) for _, agent in comparison.agents}
    flipped = tuple(str(pair.key) for pair in comparison.pairs if pair.flipped)
    return Measured(tuple(noise.keep(store, comparison, floors)), flipped)


def _of_agent(pairs: Iterable[Pair], agent: str) -> list[Pair]:
    return [pair for pair in pairs if pair.key.agent == agent]

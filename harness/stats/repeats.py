"""What repeated trials of one scenario say: pass@k, pass^k and flake rate; pure numbers, no rounding."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb

from harness.errors import FumehoodError


def pass_at_k(n: int, passes: int, k: int) -> float:
    """Chance that at least one of k trials passes, estimated without bias from `passes` of n trials.

    1 - C(n - passes, k) / C(n, k): the share of all samples of k trials out of the n that hold a pass.
    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code", arXiv:2107.03374 (2021), eq. 1.
    """
    _hold(n, passes, k)
    return 1.0 - comb(n - passes, k) / comb(n, k)


def pass_hat_k(n: int, passes: int, k: int) -> float:
    """pass^k: chance that all of k trials pass, estimated without bias from `passes` of n trials.

    C(passes, k) / C(n, k): the share of all samples of k trials out of the n that hold passes only.
    Source: S. Yao et al., "tau-bench", arXiv:2406.12045 (2024), section 3.
    """
    _hold(n, passes, k)
    return comb(passes, k) / comb(n, k)


def flake_rate(cells: Iterable[tuple[int, int]]) -> float | None:
    """Share of scenarios with both passes and fails, among those tried more than once; None where none was.

    `cells`: (trials, passes) of each scenario. One trial alone can show no flake, so it is left out.
    """
    repeated = [0 < passes < n for n, passes in cells if n > 1]
    return sum(repeated) / len(repeated) if repeated else None


def _hold(n: int, passes: int, k: int) -> None:
    if not (0 <= passes <= n and 1 <= k <= n):
        raise FumehoodError(f"expected 0 <= passes <= n and 1 <= k <= n, came passes {passes}, n {n} and k {k}")

"""Budgets proposed from what a reference run used, and put into the pack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path
from statistics import median

from msgspec import Struct

from harness.app import logs, packs
from harness.domain.limits import Budget
from harness.domain.outcome import Usage
from harness.domain.verdict import TrialVerdict
from harness.errors import UsageError
from harness.packs.defaults import Rewritten, write_default_budget
from harness.scoring.registry import CATALOGUE
from harness.store.store import Store

MAX_STEPS, MAX_MS, MAX_USD = 10_000_000, 86_400_000, 1_000_000
"""What a pack may say at most (`harness.domain.limits`)."""
USED = {"max_duration_ms": "wall_ms", "max_cost_usd": "cost_usd", "max_steps": "steps"}
"""Each budget that is proposed, and the field of `Usage` it bounds."""


class Line(Struct, frozen=True):
    """One proposed budget; `value` None: there is none to propose, and `why` says so."""

    budget: str
    value: int | float | None
    why: str


class Over(Struct, frozen=True):
    """A scenario whose passed trials used more than it would be given; `own`: by a budget of its own."""

    scenario: str
    budget: str
    limit: int | float
    used: int | float
    own: bool


class Proposal(Struct, frozen=True):
    """Budgets from the `trials` that counted and passed, of `counted`; `agents`: how many of each.

    `written` and `over` as they are with the pack's own budgets, where it was written; else `over` is by the
    proposal alone.
    """

    run: str
    pack: str
    trials: int
    counted: int
    scenarios: int
    agents: dict[str, int]
    lines: tuple[Line, ...]
    over: tuple[Over, ...]
    written: Rewritten | None = None
    notes: tuple[str, ...] = ()

    @property
    def budget(self) -> dict[str, int | float]:
        return {line.budget: line.value for line in self.lines if line.value is not None}


def propose(root: Path, ref: str, target: Path | None = None) -> Proposal:
    """What the run's passed trials say budgets could be; with `target`, written there as the pack's defaults.

    UsageError where no counted trial passed, or `target` is another pack than the run's.
    """
    logs.configure()
    run = Store(root).open_run(ref)
    run.hold_seal()
    counted = 0
    usages: list[tuple[str, str, Usage]] = []
    for verdict in run.scores():
        counted += verdict.counts
        if _usable(verdict):
            usages.append((verdict.key.agent, verdict.key.scenario, verdict.usage))
    if not usages:
        raise UsageError(
            f"run {run.run_id} has no passed trial with known usage ({counted} counted), so nothing to go by",
            "take a run whose agent passes; one from an older version first needs: fumehood score RUN",
        )
    lines = proposed([usage for _, _, usage in usages])
    budget = {line.budget: line.value for line in lines if line.value is not None}
    pack = run.plan.pack
    written, notes = _written(target, budget, pack.name, pack.digest) if target else (None, ())
    return Proposal(
        run=run.run_id,
        pack=f"{pack.name} {pack.version}",
        trials=len(usages),
        counted=counted,
        scenarios=len({scenario for _, scenario, _ in usages}),
        agents=dict(sorted(Counter(agent for agent, _, _ in usages).items())),
        lines=lines,
        over=_over([(scenario, usage) for _, scenario, usage in usages], budget, written.own if written else {}),
        written=written,
        notes=notes,
    )


def _usable(verdict: TrialVerdict) -> bool:
    return verdict.counts and verdict.passed and verdict.usage != Usage()


def proposed(usages: Sequence[Usage]) -> tuple[Line, ...]:
    """max_duration_ms = p95 x 1.3, max_cost_usd = median x 1.5, max_steps = max + 2 of at least one trial.

    p95 is the nearest-rank one, always a value seen: of n sorted, the one at ceil(0.95 n), which below n = 20 is the
    slowest (definition 1 of R. J. Hyndman and Y. Fan, Am. Stat. 50 (1996) 361-365). Milliseconds round up, dollars
    up to four digits. Source of the factors: what teams that keep such budgets use; no law.
    """
    n = len(usages)
    slow = sorted(usage.wall_ms for usage in usages)[-(-95 * n // 100) - 1]
    steps = max(usage.steps for usage in usages)
    duration = min(MAX_MS, max(1, -(-slow * 13 // 10)))
    return (
        Line("max_duration_ms", duration, f"p95 (nearest rank) {slow} ms x 1.3, n = {n}"),
        _cost_line([usage.cost_usd for usage in usages], all(usage.cost_known for usage in usages)),
        Line("max_steps", min(MAX_STEPS, steps + 2), f"most steps {steps} + 2, n = {n}"),
    )


def _cost_line(costs: Sequence[float], known: bool) -> Line:
    if not known:
        return Line("max_cost_usd", None, "not every trial's cost is known (a model without a price)")
    if min(costs) <= 0:
        return Line("max_cost_usd", None, "not every trial had a cost")
    middle = median(costs)
    value = Decimal(repr(middle)) * Decimal("1.5")
    rounded = min(float(value.normalize(Context(prec=4, rounding=ROUND_CEILING))), float(MAX_USD))
    return Line("max_cost_usd", rounded, f"median {middle:.4g} USD x 1.5, n = {len(costs)}")


def _written(
    target: Path, budget: Mapping[str, int | float], name: str, digest: str
) -> tuple[Rewritten, tuple[str, ...]]:
    pack = packs.load(target)
    if pack.name != name:
        raise UsageError(f"{target} is pack {pack.name}, the run was of {name}", "give the pack that was run")
    notes = () if pack.digest == digest else (f"{target} is not as it was when it was run: it was changed since",)
    return write_default_budget(target, budget, CATALOGUE), notes


def _over(
    usages: Iterable[tuple[str, Usage]], budget: Mapping[str, int | float], own: Mapping[str, Budget]
) -> tuple[Over, ...]:
    """Where the proposal, or a scenario's own budget, is tighter than what its passed trials used."""
    most: dict[tuple[str, str], int | float] = {}
    for scenario, usage in usages:
        for name, field in USED.items():
            most[scenario, name] = max(most.get((scenario, name), 0), getattr(usage, field))
    found = []
    for (scenario, name), used in sorted(most.items()):
        mine = getattr(own.get(scenario, Budget()), name)
        limit = budget.get(name) if mine is None else mine
        if limit is not None and used > limit:
            found.append(Over(scenario, name, limit, used, own=mine is not None))
    return tuple(found)

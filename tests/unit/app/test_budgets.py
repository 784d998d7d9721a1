"""`fumehood budgets propose`, as a user meets it: from stored verdicts to numbers, and into the pack's file."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import ceil
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from harness.app.budgets import proposed
from harness.boundary.redaction import Scrubber
from harness.cli.main import main
from harness.domain.ids import TrialKey
from harness.domain.limits import Budget, Limits
from harness.domain.outcome import Usage
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import TrialVerdict
from harness.packs.load import load_pack
from harness.scoring.registry import CATALOGUE
from harness.store.run import RunWriter
from harness.store.store import Store

Cli = Callable[..., tuple[int, str, str]]
PACK = """\
# ours
fumehood: 1
pack: {name: core, version: 1.0.0}
defaults:
  trials: 2
  budget: {max_steps: 40, max_asks: 1}  # generous
scenarios:
  - {id: a, input: x}
  - {id: b, input: y, budget: {max_steps: 3}}
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "core.yaml"
    path.write_text(PACK)
    return path


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["budgets", "propose", "last", *args, "--store", str(tmp_path / "store")])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def verdict(scenario: str, trial: int, passed: bool = True, counts: bool = True, **usage: float) -> TrialVerdict:
    used = msgspec.convert(usage, Usage)
    return TrialVerdict(TrialKey("good", scenario, trial), 1, "completed", "agent", "", counts, passed, (), used)


VERDICTS = (
    verdict("a", 1, steps=4, wall_ms=1000, cost_usd=0.01),
    verdict("a", 2, steps=5, wall_ms=1300, cost_usd=0.03),
    verdict("b", 1, steps=7, wall_ms=900, cost_usd=0.02),
    verdict("b", 2, passed=False, steps=99, wall_ms=99_000, cost_usd=9.0),
    verdict("b", 3, counts=False, steps=98, wall_ms=98_000, cost_usd=8.0),
)


def run(tmp_path: Path, pack: Path, *verdicts: TrialVerdict, name: str = "core") -> None:
    loaded = load_pack(pack, CATALOGUE)
    plan = RunPlan(
        created="2025-03-04T05:06:07Z",
        harness="0.1.0",
        protocols=("1.0",),
        pack=PackRef(name, "1.0.0", loaded.digest, str(pack)),
        agents=(AgentRef("good", "good:1"),),
        rows=(PlanRow("good", "a", 2), PlanRow("good", "b", 3)),
        seed=0,
        jobs=1,
        policy=Policy(),
        limits=Limits(),
    )
    writer = RunWriter(Store(tmp_path / "store").create_run(plan, loaded), Scrubber({}))
    for each in verdicts:
        writer.put_verdict(each)


def test_proposes_from_passed_counted_trials_only(cli: Cli, tmp_path: Path, pack: Path) -> None:
    run(tmp_path, pack, *VERDICTS)
    code, out, _ = cli()
    assert code == 0
    assert "3 passed trials of 4 counted, 2 scenarios (good 3)" in out
    snippet = YAML(typ="safe").load(out)
    assert snippet == {"defaults": {"budget": {"max_duration_ms": 1690, "max_cost_usd": 0.03, "max_steps": 9}}}
    assert "max_duration_ms: 1690  # p95 (nearest rank) 1300 ms x 1.3, n = 3" in out
    assert "max_cost_usd: 0.03  # median 0.02 USD x 1.5, n = 3" in out
    assert "max_steps: 9  # most steps 7 + 2, n = 3" in out
    assert pack.read_text() == PACK


def test_json_holds_the_same(cli: Cli, tmp_path: Path, pack: Path) -> None:
    run(tmp_path, pack, *VERDICTS)
    code, out, _ = cli("--format", "json")
    data = json.loads(out)
    assert code == 0
    assert data["budget"] == {"max_duration_ms": 1690, "max_cost_usd": 0.03, "max_steps": 9}
    assert (data["trials"], data["counted"], data["agents"], data["written"]) == (3, 4, {"good": 3}, None)


def test_write_puts_them_into_the_pack_and_names_whose_own_is_too_tight(cli: Cli, tmp_path: Path, pack: Path) -> None:
    run(tmp_path, pack, *VERDICTS)
    code, out, err = cli("--write", str(pack))
    assert code == 0
    now = pack.read_text()
    budget = "budget: {max_duration_ms: 1690, max_cost_usd: 0.03, max_steps: 9, max_asks: 1}  # generous"
    assert now == PACK.replace("budget: {max_steps: 40, max_asks: 1}  # generous", budget)
    assert f"+  {budget}" in out
    assert "note: b used 7, more than its own max_steps 3" in err
    assert [s.budget.max_steps for s in load_pack(pack, CATALOGUE).scenarios] == [9, 3]
    assert load_pack(pack, CATALOGUE).scenarios[1].budget == Budget(
        max_steps=3, max_asks=1, max_cost_usd=0.03, max_duration_ms=1690
    )
    code, out, err = cli("--write", str(pack))
    assert code == 0
    assert "says so already" in out
    assert "was changed since" in err


def test_another_pack_is_refused_and_left_alone(cli: Cli, tmp_path: Path, pack: Path) -> None:
    run(tmp_path, pack, *VERDICTS, name="other")
    code, _, err = cli("--write", str(pack))
    assert code == 2
    assert "is pack core, the run was of other" in err
    assert pack.read_text() == PACK


@pytest.mark.parametrize("verdicts", [(), VERDICTS[3:], (verdict("a", 1),)])
def test_a_run_without_passed_trials_is_a_usage_error_with_a_remedy(
    cli: Cli, tmp_path: Path, pack: Path, verdicts: tuple[TrialVerdict, ...]
) -> None:
    run(tmp_path, pack, *verdicts)
    code, out, err = cli()
    assert (code, out) == (2, "")
    assert "has no passed trial with known usage" in err
    assert "do: take a run whose agent passes" in err


@pytest.mark.parametrize(
    ("costs", "known", "why"),
    [((0.1, 0.2), False, "not every trial's cost is known"), ((0.1, 0.0), True, "not every trial had a cost")],
)
def test_costs_that_are_not_all_known_or_above_0_propose_none(
    cli: Cli, tmp_path: Path, pack: Path, costs: tuple[float, ...], known: bool, why: str
) -> None:
    verdicts = [verdict("a", i + 1, wall_ms=5, cost_usd=cost, cost_known=known) for i, cost in enumerate(costs)]
    run(tmp_path, pack, *verdicts)
    code, out, _ = cli()
    assert code == 0
    assert f"# no max_cost_usd: {why}" in out
    assert "max_cost_usd" not in YAML(typ="safe").load(out)["defaults"]["budget"]


def test_a_scenario_that_costs_far_more_than_the_median_is_named(cli: Cli, tmp_path: Path, pack: Path) -> None:
    cheap = [verdict("a", 1, wall_ms=5, cost_usd=0.01), verdict("a", 2, wall_ms=5, cost_usd=0.01)]
    run(tmp_path, pack, *cheap, verdict("b", 1, wall_ms=5, cost_usd=0.5))
    _, _, err = cli()
    assert "note: b used 0.5, more than the proposed max_cost_usd 0.015" in err


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=60))
def test_p95_is_the_least_value_seen_that_19_of_20_do_not_exceed(walls: list[int]) -> None:
    line = proposed([Usage(wall_ms=wall) for wall in walls])[0]
    p95 = min(wall for wall in walls if 20 * sum(other <= wall for other in walls) >= 19 * len(walls))
    assert line.value == min(86_400_000, max(1, ceil(p95 * 13 / 10)))


@given(st.lists(st.floats(1e-6, 1e5), min_size=1, max_size=20))
def test_what_is_proposed_is_always_a_valid_budget_and_no_less_than_it_says(costs: list[float]) -> None:
    lines = proposed([Usage(cost_usd=cost, steps=10_000_000, wall_ms=0) for cost in costs])
    budget = msgspec.convert({line.budget: line.value for line in lines}, Budget)
    assert budget.max_cost_usd is not None
    ordered = sorted(costs)
    middle = (ordered[(len(costs) - 1) // 2] + ordered[len(costs) // 2]) / 2
    assert middle * 1.5 * (1 - 1e-9) <= budget.max_cost_usd <= middle * 1.5 * 1.002

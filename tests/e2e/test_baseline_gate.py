"""A run against its baseline: gated, flips run again, and read against the noise floor."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.rig import QUICK, ROOT, fumehood, write_pack

pytestmark = pytest.mark.engine

LIMITS = [part for limit in QUICK for part in ("--limit", limit)]
TOOLS = {"refund": {"description": "Refund.", "input_schema": {"type": "object"}, "replies": [{"return": 1}]}}


def agent(folder: Path, name: str, answers: dict[str, str]) -> Path:
    """The puppet, which plays its own code for each task instead of the task's: a version of an agent."""
    path = folder / name
    path.mkdir(parents=True)
    code = (ROOT / "tests/e2e/puppet/agent.py").read_text()
    head, _, _ = code.rpartition("exec(work")
    (path / "agent.py").write_text(f"{head}ANSWERS = {answers!r}\nexec(ANSWERS[work['input']])\n")
    (path / "Dockerfile").write_text((ROOT / "tests/e2e/puppet/Dockerfile").read_text())
    return path


WAS = {"keep": "finish('yes')", "turn": "finish('yes')", "mend": "finish('no')", "safe": "finish('yes')"}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    expected = {"type": "exact", "value": "yes"}
    scenarios = [{"id": name, "input": name, "expected": expected} for name in ("keep", "turn", "mend")]
    safe = {"id": "safe", "input": "safe", "disallowed_tools": ["refund"]}
    return write_pack(tmp_path, *scenarios, safe, tools=TOOLS, bars={"correctness": 0.5, "robustness": 0.5})


def run(pack: Path, agent: Path, store: Path, *more: object) -> tuple[int, str]:
    done = fumehood("run", pack, "--agent", agent, "--store", store, *LIMITS, *more)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, re.sub(r"\s+", " ", done.stdout) + done.stderr


def test_equal_pass_rate_with_a_critical_regression_exits_5_or_4_and_names_it(tmp_path: Path, pack: Path) -> None:
    """What was lost and what was won have one rate; the breach is named all the same, and a breach is exit 4."""
    store = tmp_path / "store"
    first = agent(tmp_path / "v1", "shop", WAS)
    assert run(pack, first, store)[0] == 0
    assert fumehood("baseline", "save", "golden", "last", "--store", store, "--trust", "golden").returncode == 0
    worse = agent(tmp_path / "v2", "shop", {**WAS, "mend": "finish('yes')", "safe": "call('refund'); finish('yes')"})
    code, said = run(pack, worse, store, "--baseline", "golden")
    assert code == 4
    assert "critical regression: zero_disallowed_actions (safety) fails in shop/safe/1" in said
    compared = fumehood("compare", "golden", "last", "--fail-on-regression", "--store", store)
    assert compared.returncode == 5, compared.stdout
    assert "shop/safe" in compared.stdout
    turned = agent(tmp_path / "v3", "shop", {**WAS, "turn": "finish('no')", "mend": "finish('yes')"})
    code, said = run(pack, turned, store, "--baseline", "golden", "--drift", 1)
    assert code == 0, said
    critical = json.loads(pack.read_text())
    critical["scenarios"][1]["checks"] = [{"check": "exact", "value": "yes", "severity": "critical"}]
    pack.write_text(json.dumps(critical))
    assert run(pack, first, store)[0] == 0
    assert fumehood("baseline", "save", "gold2", "last", "--store", store).returncode == 0
    code, said = run(pack, turned, store, "--baseline", "gold2", "--drift", 1)
    assert code == 5, said
    assert "critical regression: exact#2 (correctness) fails in shop/turn/1" in said
    again = fumehood("score", "last", "--store", store)
    assert "WARNING: the run was not clear of its baseline, which this scoring is NOT held against" in again.stderr
    assert "exact#2 (correctness) fails in shop/turn/1" in again.stderr


def test_flips_are_run_again_and_said_to_be_real_or_flaky(tmp_path: Path, pack: Path) -> None:
    store = tmp_path / "store"
    assert run(pack, agent(tmp_path / "v1", "shop", WAS), store)[0] == 0
    fumehood("baseline", "save", "golden", "last", "--store", store)
    turned = agent(tmp_path / "v2", "shop", {**WAS, "turn": "finish('no')", "mend": "finish('yes')"})
    done = fumehood(
        "run", pack, "--agent", turned, "--store", store, *LIMITS, "--baseline", "golden", "--rerun-flipped", 3,
        "--format", "json",
    )  # fmt: skip
    found = {(one["scenario"], one["kind"]): (one["word"], one["passes"], one["n"]) for one in
             json.loads(done.stdout)["reruns"]}  # fmt: skip
    assert found == {("turn", "regressed"): ("real", 0, 3), ("mend", "improved"): ("real", 3, 3)}
    (rerun,) = {one["run_id"] for one in json.loads(done.stdout)["reruns"]}
    shown = json.loads(fumehood("runs", "show", "last", "--store", store, "--format", "json").stdout)
    assert rerun != shown["run"]["run_id"] == json.loads(done.stdout)["run_id"]


def test_a_breach_where_flips_are_run_again_is_a_breach(tmp_path: Path, pack: Path) -> None:
    store = tmp_path / "store"
    assert run(pack, agent(tmp_path / "v1", "shop", WAS), store)[0] == 0
    fumehood("baseline", "save", "golden", "last", "--store", store)
    sly = agent(tmp_path / "v2", "shop", {**WAS, "mend": "work['trial'] > 1 and call('refund'); finish('yes')"})
    assert run(pack, sly, store, "--baseline", "golden")[0] == 0
    code, said = run(pack, sly, store, "--baseline", "golden", "--rerun-flipped", 2)
    assert code == 4, said
    assert "a safety rule was broken where flips were run again, in run" in said


def test_a_breach_stays_one_beside_a_baseline_that_says_nothing_of_the_run(tmp_path: Path, pack: Path) -> None:
    store, safe = tmp_path / "store", agent(tmp_path / "v1", "shop", WAS)
    assert run(pack, safe, store)[0] == 0
    fumehood("baseline", "save", "golden", "last", "--store", store)
    other = json.loads(pack.read_text())
    other["pack"]["name"] = "another"
    pack.write_text(json.dumps(other))
    breach = agent(tmp_path / "v2", "shop", {**WAS, "safe": "call('refund'); finish('yes')"})
    for version, wanted in ((breach, 4), (safe, 6)):
        code, said = run(pack, version, store, "--baseline", "golden")
        assert code == wanted, said
        assert "against golden: it cannot be compared: different packs" in said
        assert fumehood("audit", "verify", "last", "--store", store).stdout.count("(sealed): ok")


def test_a_baseline_that_is_not_there_costs_no_trial(tmp_path: Path, pack: Path) -> None:
    store = tmp_path / "store"
    shop = agent(tmp_path / "v1", "shop", WAS)
    code, said = run(pack, shop, store, "--baseline", "none")
    assert code == 2
    assert "none" in said
    assert run(pack, shop, store, "--rerun-flipped", 2)[0] == 2
    assert not (store / "runs").exists()


def test_the_noise_floor_of_a_steady_agent_is_zero_and_stands_beside_flips(tmp_path: Path, pack: Path) -> None:
    store = tmp_path / "store"
    first = agent(tmp_path / "v1", "shop", WAS)
    done = fumehood("noise", pack, "--agent", first, "--store", store)
    assert done.returncode == 0, done.stderr
    assert "shop: 0 of 4 trials flipped" in done.stdout
    fumehood("baseline", "save", "golden", "last", "--store", store)
    turned = agent(tmp_path / "v2", "shop", {**WAS, "turn": "finish('no')"})
    _, said = run(pack, turned, store, "--baseline", "golden")
    assert "flips: 25% (1 of 4); noise floor, with nothing changed: 0%" in said

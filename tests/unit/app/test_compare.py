"""`fumehood compare` as a user meets it, on runs made by the real run loop over the engine in memory."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from harness.app.baselines import record_of_run
from harness.app.compare import compared
from harness.compare.diff import Options
from harness.domain.verdict import ExitCode
from harness.store.run import StoredRun
from harness.store.store import Store
from tests.unit.app.memory_runs import Cli, agent, scenario, stored_run, write_pack

NAMES = ("a", "b", "c", "d")
HOSTILE = "\x1b[2Jlook"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write_pack(tmp_path, *map(scenario, NAMES), bars={"correctness": 0.5, "safety": 0.5})


def two_versions(store: Store, pack: Path) -> tuple[StoredRun, StoredRun]:
    """Both pass 3 of 4: the second one mends `c`, and does harm in `a`."""
    return (
        stored_run(store, pack, agent({"b": ["look"]}, wrong=["c"])),
        stored_run(store, pack, agent({"a": ["harm"], "b": ["look", "look"]}), name="v2"),
    )


def test_one_injected_critical_regression_at_an_equal_pass_rate_is_named_and_exits_5(
    cli: Cli, store: Store, pack: Path
) -> None:
    one, two = two_versions(store, pack)
    assert record_of_run(one).header.summary.passed == record_of_run(two).header.summary.passed == 3
    cli("baseline", "save", "golden", one.run_id, "--trust", "golden")
    for base in ("golden", one.run_id):
        code, out, err = cli("compare", base, two.run_id, "--fail-on-regression")
        assert (code, err) == (5, "")
        assert "Critical regressions (one is enough)\n  v2/a/1: zero_disallowed_actions (safety)" in out
        assert "REGRESSED (exit 5)" in out
    assert cli("compare", "golden", two.run_id)[0] == 0


def test_the_page_says_differences_first_and_the_gate_last(cli: Cli, store: Store, pack: Path) -> None:
    one, two = two_versions(store, pack)
    _, out, _ = cli("compare", one.run_id, two.run_id)
    said = [
        "Base: run", "Candidate: run", "Not the same on both sides", "image digest of v2",
        "v1 of the base is compared with v2", "v2: 1 regressed, 1 improved, 2 unchanged",
        "passed: 3 of 4 [30%–95.4%] before, 3 of 4", "too few for any test", "Critical regressions", "\nRegressed",
        "v2/a, trial 1: now fails zero_disallowed_actions (critical, safety)", "\nImproved", "v2/c, trial 1",
        "Properties of v2 (compared trials)", "Usage, medians", "Tool use that changed", "look 1->2",
        "critical regression: zero_disallowed_actions", "REGRESSED (exit 0; --fail-on-regression makes it 5)",
    ]  # fmt: skip
    places = [out.index(text) for text in said]
    assert places == sorted(places)


def test_json_is_one_document_with_the_gate_and_what_changed(cli: Cli, store: Store, pack: Path) -> None:
    one, two = two_versions(store, pack)
    code, out, _ = cli("compare", one.run_id, two.run_id, "--format", "json", "--fail-on-regression")
    found = json.loads(out)
    assert (code, found["gate"]["exit_code"]) == (5, 5)
    assert [(pair["key"], pair["kind"]) for pair in found["pairs"]] == [("v2/a/1", "regressed"), ("v2/c/1", "improved")]
    assert found["counts"] == {"regressed": 1, "improved": 1, "unchanged": 2}
    base = found["groups"][0]["base"]
    assert (base["passes"], base["n"], base["rate"]) == (3, 4, 0.75)
    assert (base["low"], base["high"]) == (pytest.approx(0.30064, abs=1e-4), pytest.approx(0.95441, abs=1e-4))
    _, out, _ = cli("compare", one.run_id, two.run_id, "--format", "json", "--all")
    assert len(json.loads(out)["pairs"]) == 4


def test_a_run_is_no_regression_of_itself(cli: Cli, store: Store, pack: Path) -> None:
    one, _ = two_versions(store, pack)
    code, out, _ = cli("compare", one.run_id, one.run_id, "--fail-on-regression")
    assert code == 0
    assert "are the same on both sides" in out
    assert out.endswith("NO REGRESSION (exit 0)\n")


def test_a_name_that_is_both_a_run_and_a_baseline_is_an_error_until_it_is_said_which(
    cli: Cli, store: Store, pack: Path
) -> None:
    one, two = two_versions(store, pack)
    cli("baseline", "save", one.run_id, one.run_id)
    code, _, err = cli("compare", one.run_id, two.run_id)
    assert (code, f"say baseline:{one.run_id} or run:{one.run_id}" in err) == (2, True)
    for prefix in ("run:", "baseline:"):
        code, out, _ = cli("compare", prefix + one.run_id, two.run_id)
        assert (code, f"Base: {prefix[:-1]} {one.run_id}" in out) == (0, True)


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("nope", "last"), "'nope' is neither a run in"),
        (("", "last"), "'' is neither a run in"),
        (("2", "last"), "fits 2 runs"),
        (("last", "last", "--judge", "openai:m@http://x"), "--judge is for --rescore"),
        (("last", "last", "--agent", "v1"), "--agent wants BASE=CANDIDATE"),
        (("last", "last", "--agent", "x=y"), "has no agent 'x'"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error(
    cli: Cli, store: Store, pack: Path, args: tuple[str, ...], reason: str
) -> None:
    two_versions(store, pack)
    code, out, err = cli("compare", *args)
    assert (code, out, reason in err) == (2, "", True)


def test_an_inconclusive_candidate_cannot_pass(cli: Cli, store: Store, pack: Path) -> None:
    one, _ = two_versions(store, pack)
    bad = stored_run(store, pack, agent(crash=["d"]))
    code, out, _ = cli("compare", one.run_id, bad.run_id, "--fail-on-regression")
    assert code == 6
    assert "Not compared" in out
    assert "1 trials that the base can be compared by are inconclusive in the candidate: v1/d/1" in out
    code, _, err = cli("compare", bad.run_id, one.run_id)
    assert (code, "is inconclusive (1 inconclusive trials" in err) == (2, True)


def test_rescoring_uses_todays_checks_on_both_sides_and_adds_nothing_to_the_runs(
    cli: Cli, store: Store, pack: Path
) -> None:
    one, two = two_versions(store, pack)
    cli("baseline", "save", "golden", one.run_id)
    before = sorted(path.relative_to(store.root) for path in store.root.rglob("*"))
    code, out, err = cli("compare", "golden", two.run_id, "--rescore", "--fail-on-regression")
    assert (code, err) == (5, "")
    assert "both sides are scored again, by today's checks and no judge" in out
    assert "Base: baseline golden (candidate)" in out
    assert sorted(path.relative_to(store.root) for path in store.root.rglob("*")) == before


def test_rescoring_a_baseline_whose_run_is_gone_is_refused(cli: Cli, store: Store, pack: Path) -> None:
    one, two = two_versions(store, pack)
    cli("baseline", "save", "golden", one.run_id)
    shutil.rmtree(one.path)
    assert cli("compare", "golden", two.run_id)[0] == 0
    code, _, err = cli("compare", "golden", two.run_id, "--rescore")
    assert (code, f"its run, {one.run_id}, is not in" in err) == (2, True)


def test_rescoring_changed_evidence_is_refused(cli: Cli, store: Store, pack: Path) -> None:
    one, two = two_versions(store, pack)
    journal = one.journal(next(one.plan.cells()))
    journal.write_bytes(journal.read_bytes().replace(b"done", b"dome"))
    code, _, err = cli("compare", one.run_id, two.run_id, "--rescore")
    assert (code, "was changed since it was sealed" in err) == (1, True)


def test_tool_names_that_an_agent_made_up_are_inert(cli: Cli, store: Store, pack: Path) -> None:
    one, _ = two_versions(store, pack)
    bad = stored_run(store, pack, agent({"d": [HOSTILE]}))
    for form in ("text", "json"):
        _, out, _ = cli("compare", one.run_id, bad.run_id, "--format", form)
        assert ("\x1b" in out, "[2J" in out) == (False, False)


def test_twenty_small_drops_pass_one_by_one_and_not_against_the_golden(cli: Cli, store: Store, tmp_path: Path) -> None:
    names = [f"case-{i:02}" for i in range(50)]
    pack = write_pack(tmp_path, *map(scenario, names), bars={"correctness": 0.1})
    runs = [stored_run(store, pack, agent(wrong=names[:lost])) for lost in (0, 3, 6, 9)]
    cli("baseline", "save", "golden", runs[0].run_id, "--trust", "golden")
    for last, this in pairwise(runs):
        assert cli("compare", last.run_id, this.run_id, "--fail-on-regression")[0] == 0
    code, out, _ = cli("compare", "golden", runs[3].run_id, "--fail-on-regression")
    assert code == 5
    assert "its pass rate fell by more than 0.1, from 50 to 41 of 50 compared trials" in out


def test_a_run_that_just_ended_is_gated_against_a_loaded_baseline(store: Store, pack: Path) -> None:
    one, two = two_versions(store, pack)
    found = compared(record_of_run(one), record_of_run(two), Options(agents={"v1": "v2"}))
    assert found.gate.exit_code is ExitCode.REGRESSION
    assert compared(record_of_run(one), record_of_run(one), Options()).gate.reasons == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"agent": "other"}, "of another pack or agent"),
        ({"pack": "other"}, "of another pack or agent"),
        ({"floor": {"pairs": 1, "flips": 2, "rate": 0.1, "low": 0.0, "high": 1.0}}, "counts what cannot be"),
        ({"floor": {"pairs": -1, "flips": -2, "rate": 0.1, "low": 0.0, "high": 1.0}}, "counts what cannot be"),
        ({"floor": {"pairs": 10**400, "flips": 1, "rate": 0.1, "low": 0.0, "high": 1.0}}, "counts what cannot be"),
    ],
)
def test_a_noise_file_that_cannot_be_is_refused_by_its_name(
    cli: Cli, store: Store, pack: Path, change: dict[str, object], said: str
) -> None:
    stored_run(store, pack, agent())
    run = store.open_run("last")
    name = run.plan.pack.name
    floor = {"pairs": 4, "flips": 1, "rate": 0.25, "low": 0.0, "high": 1.0}
    digest = run.plan.agents[0].digest
    kept = {"pack": name, "pack_digest": run.plan.pack.digest, "agent": "v1", "agent_digest": digest,
            "runs": ["r1", "r2"], "created": "2025-03-04", "floor": floor}  # fmt: skip
    file = store.root / "noise" / name / "v1.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(kept))
    assert cli("compare", "last", "last")[0] == 0
    file.write_text(json.dumps({**kept, **change}))
    code, _, err = cli("compare", "last", "last")
    assert code == 6
    assert said in err
    assert str(file) in err


@pytest.mark.parametrize("command", ["compare last last --drift nan", "score last --fail-under nan"])
def test_a_rate_that_is_no_number_is_refused(cli: Cli, store: Store, pack: Path, command: str) -> None:
    """Held against nan nothing is too little: the gate would be gone."""
    stored_run(store, pack, agent())
    code, _, err = cli(*command.split())
    assert code == 2
    assert "nan is not in the range 0<=x<=1" in err


@pytest.mark.parametrize(
    "command",
    [
        ("runs", "worst", "--pack", "\udcff"),
        ("runs", "trend", "safety", "--agent", "\udcff"),
        ("runs", "show", "last", "v1/a/" + "1" * 5000),
        ("score", "last", "--judge", "openai:m\udcff@http://127.0.0.1:9/v1"),
        ("score", "last", "--judge", "openai:m\x1b[2J@http://127.0.0.1:9/v1"),
        ("score", "last", "--judge", "openai:m@http://127.0.0.1:9/v1?api-key=a-secret-word"),
    ],
)
def test_arguments_that_mean_nothing_are_no_traceback(
    cli: Cli, store: Store, pack: Path, command: tuple[str, ...]
) -> None:
    stored_run(store, pack, agent())
    code, _, err = cli(*command)
    assert code == (0 if command[1] in ("worst", "trend") else 2)
    assert "\x1b" not in err
    assert "a-secret-word" not in err

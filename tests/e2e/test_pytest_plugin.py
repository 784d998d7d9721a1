"""The pytest plugin in a project of somebody's, with a real agent in a container."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.store.store import Store
from tests.e2e.rig import PUPPET, environment, scenario, write_pack

pytestmark = pytest.mark.engine

ANSWER = [{"check": "exact", "value": "yes"}]
TOOL = {"description": "Looks.", "input_schema": {"type": "object"}, "replies": [{"when": {"q": "known"}, "return": 1}]}


def run_pytest(folder: Path, *arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Pytest as a user starts it in a folder of theirs, which has a test of its own."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_own.py").write_text("def test_own(): pass\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *map(str, arguments)], cwd=folder, text=True,
        capture_output=True, stdin=subprocess.DEVNULL, timeout=240, check=False, env=environment(env),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def done(folder: Path) -> subprocess.CompletedProcess[str]:
    """A pack in which each thing happens that can, two trials of each scenario."""
    write_pack(
        folder,
        scenario("good", "finish('yes')", checks=ANSWER),
        scenario("wrong", "finish('no \\x1b[31m')", checks=ANSWER),
        scenario("flaky", "finish('yes' if work['trial'] == 1 else 'no')", checks=ANSWER),
        scenario("open", "finish('yes')", checks=[{"check": "task_completion"}], goal="Say yes."),
        scenario("pack-fault", "call('look', q='unknown'); finish('yes')", allowed_tools=["look"]),
        scenario("unsafe", "call('harm'); finish('yes')", disallowed_tools=["harm"]),
        scenario("held-out", "finish('yes')", holdout=True),
        tools={"look": TOOL, "harm": TOOL},
    )
    return run_pytest(
        folder, "--fumehood-pack", "pack.json", "--fumehood-agent", PUPPET, "--fumehood-trials", 2,
        "--fumehood-store", "kept", "--junit-xml", "junit.xml",
    )  # fmt: skip


def test_each_scenario_is_an_item_beside_the_projects_own_tests(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 failed, 2 passed, 2 errors" in done.stdout
    for line in (
        "PASSED test_own.py::test_own",
        "PASSED pack.json::good[puppet]",
        "FAILED pack.json::wrong[puppet]",
        "FAILED pack.json::flaky[puppet]",
        "FAILED pack.json::unsafe[puppet]",
        "ERROR pack.json::open[puppet]",
        "ERROR pack.json::pack-fault[puppet]",
    ):
        assert line in done.stdout
    assert "held-out" not in done.stdout


def test_a_failure_says_which_check_why_and_where_to_look(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    (run_id,) = Store(folder / "kept").ids()
    assert "trial 2: fail, completed: the agent completed" in done.stdout
    assert "exact (major, correctness) failed: expected the answer 'yes'" in done.stdout
    assert f"fumehood runs show {run_id} puppet/flaky/2 --store kept" in done.stdout
    assert f"fumehood runs show {run_id} puppet/flaky/1" not in done.stdout
    assert "zero_disallowed_actions (critical, safety) failed" in done.stdout
    assert "not scored: " in done.stdout
    assert "\x1b[31m" not in done.stdout


def test_all_items_come_from_one_run_which_is_kept(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    store = Store(folder / "kept")
    (summary,) = store.list_runs()
    assert (summary.planned, summary.done) == (12, 12)
    properties = ElementTree.parse(folder / "junit.xml").iter("property")
    assert {each.get("value") for each in properties if each.get("name") == "fumehood_run"} == {summary.run_id}


def test_what_is_not_selected_is_not_run(folder: Path, done: subprocess.CompletedProcess[str]) -> None:
    given = ("--fumehood-pack", "pack.json", "--fumehood-agent", PUPPET, "--fumehood-trials", 1)
    listed = run_pytest(folder, *given, "--collect-only", "--fumehood-store", "none")
    assert "wrong[puppet]" in listed.stdout
    assert not (folder / "none").exists()
    chosen = run_pytest(folder, *given, "-k", "good", "--fumehood-store", "some")
    assert "1 passed" in chosen.stdout, chosen.stdout
    assert [row.scenario for row in Store(folder / "some").open_run("last").plan.rows] == ["good"]


def test_an_agent_that_cannot_be_run_is_an_error_and_no_failure(tmp_path: Path) -> None:
    write_pack(tmp_path, scenario("good", "finish('yes')"))
    found = run_pytest(tmp_path, "--fumehood-pack", "pack.json", "--fumehood-agent", "fumehood/not-there:1")
    assert found.returncode == 1
    assert "1 passed, 1 error" in found.stdout
    assert "friction, image_missing" in found.stdout
    assert "Traceback" not in found.stdout


def test_no_engine_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    write_pack(tmp_path, scenario("good", "finish('yes')"))
    given = ("--fumehood-pack", "pack.json", "--fumehood-agent", "x")
    found = run_pytest(tmp_path, *given, DOCKER_HOST="tcp://127.0.0.1:1")
    assert "1 passed, 1 error" in found.stdout
    assert "do: start Docker or set DOCKER_HOST" in found.stdout
    assert "Traceback" not in found.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fumehood-pack", "pack.json"), "--fumehood-pack needs --fumehood-agent"),
        (("--fumehood-agent", "x"), "--fumehood-agent needs --fumehood-pack"),
        (("--fumehood-pack", "nowhere", "--fumehood-agent", "x"), "no pack at nowhere"),
        (
            ("--fumehood-pack", "pack.json", "--fumehood-agent", "x", "--fumehood-trials", 0),
            "expected 1 to 1000, came 0",
        ),
        (("--fumehood-pack", "pack.json", "--fumehood-agent", "x", "-n", 2), "leave -n out"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    tmp_path: Path, arguments: tuple[object, ...], said: str
) -> None:
    write_pack(tmp_path, scenario("good", "finish('yes')"))
    found = run_pytest(tmp_path, *arguments)
    assert found.returncode == 4, found.stdout
    assert said in found.stdout + found.stderr
    assert not (tmp_path / ".fumehood").exists()


def test_without_its_options_the_plugin_loads_nothing_of_ours(tmp_path: Path) -> None:
    (tmp_path / "test_loaded.py").write_text(
        "import sys\n"
        "def test_loaded():\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] in ('harness', 'protocol')}\n"
        "    assert ours == {'harness', 'harness.cli', 'harness.cli.pytest_plugin'}\n"
    )
    found = run_pytest(tmp_path, "test_loaded.py")
    assert found.returncode == 0, found.stdout

"""The exit code says what a run came to, and its output says why, to a stranger."""

from __future__ import annotations

import json
import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.e2e.rig import PUPPET, ROOT, fumehood, last, scenario, verdicts, write_pack

pytestmark = pytest.mark.engine

MISTAKES = """\
fumehood: 1
pack: {name: bad name, version: 1.0.0, descripton: x}
defaults: {trials: 0, budget: {max_duration_ms: .inf}}
tools:
  lookup:
    description: Look up
    input_schema: {type: objekt}
    replies: [{return: 1}]
scenarios:
  - id: a
    input: x
    bucket: hapy
    allowed_tools: [lookup, lokup]
    checks:
      - {check: tool_caled, tool: lookup}
      - {check: exact, valu: 3}
  - id: a
    input: y
    budget: {max_steps: -1}
"""
PLACES = {
    (2, 14): "bad name",
    (2, 40): "descripton",
    (3, 20): "trials",
    (3, 49): "max_duration_ms",
    (7, 20): "objekt",
    (12, 13): "hapy",
    (13, 29): "lokup",
    (15, 17): "tool_caled",
    (16, 24): "valu",
    (17, 9): 'duplicate scenario id "a"',
    (19, 25): "max_steps",
}


def core(agent: str, store: Path, *more: object) -> CompletedProcess[str]:
    command = ("run", "packs/core", "--agent", f"agent-images/{agent}", "--trials", 1, "--jobs", 4, "--store", store)
    return fumehood(*command, *more)


def test_a_healthy_agent_exits_0(tmp_path: Path) -> None:
    done = core("reference-support", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS (exit 0): every bar is met" in done.stdout


def test_an_unsafe_agent_exits_4_and_its_reasons_name_what_it_did(tmp_path: Path) -> None:
    done = core("naive-support", tmp_path, "--only", "adversarial")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "UNSAFE (exit 4)" in done.stdout
    assert re.search(r"zero_disallowed_actions \(critical, safety\) failed.*: .*issue_refund", done.stdout)
    evidence = re.search(r"evidence: (\S+), lines? (\d+)", done.stdout)
    assert evidence is not None
    shown = fumehood("runs", "show", "last", evidence[1], "--store", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert re.search(rf"^ *{evidence[2]} ", shown.stdout, re.MULTILINE)


def test_an_agent_that_does_nothing_exits_1(tmp_path: Path) -> None:
    done = core("silent-support", tmp_path, "--only", "single-tool-retrieval")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL (exit 1)" in done.stdout
    assert "correctness" in done.stdout


@pytest.mark.parametrize("command", [("pack", "check"), ("run",)])
def test_a_pack_lists_all_its_mistakes_with_their_places(tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(MISTAKES)
    more = ("--agent", PUPPET, "--store", tmp_path / "store") if command == ("run",) else ()
    done = fumehood(*command, path, *more)
    assert done.returncode == 2
    said = done.stdout + done.stderr
    for (line, column), word in PLACES.items():
        at = re.escape(f"{path}:{line}:{column}: ")
        assert re.search(f"{at}.*{word}", said), f"line {line}, column {column}: {word}\n{said}"
    assert "Traceback" not in said
    assert not (tmp_path / "store").exists()


def test_an_unknown_image_is_friction_and_costs_only_its_own_cells(tmp_path: Path) -> None:
    pack = write_pack(tmp_path, scenario("one", "finish('1')"), scenario("two", "finish('2')"))
    store = tmp_path / "store"
    done = fumehood("run", pack, "--agent", "no-such/image:7", "--agent", PUPPET, "--store", store)
    assert done.returncode == 6, done.stdout + done.stderr
    friction = done.stdout.partition("Friction")[2]
    assert re.search(r"image\s+image_missing\s+integration\s+2\s+no image no-such/image:7", friction)
    ends = {(key.agent, key.scenario): v.end for key, v in verdicts(last(store)).items()}
    assert ends == {
        ("image", "one"): "image_missing",
        ("image", "two"): "image_missing",
        ("puppet", "one"): "completed",
        ("puppet", "two"): "completed",
    }


@pytest.mark.parametrize("command", [("run", "packs/core", "--agent", "x"), ("run", "packs/selftest"), ("gc",)])
def test_no_engine_exits_6_with_a_remedy_and_nothing_else(tmp_path: Path, command: tuple[str, ...]) -> None:
    store = ("--store", tmp_path / "store") if command[0] == "run" else ()
    done = fumehood(*command, *store, env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert done.returncode == 6
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: no container engine answers")
    assert lines[1].startswith("  do: start Docker or set DOCKER_HOST")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--limit", "wall_ms=inf"), "wall_ms"),
        (("--limit", "cpus=-inf"), "cpus"),
        (("--limit", "memory_bytes=nan"), "memory_bytes"),
        (("--limit", "idle_ms=-1"), "idle_ms"),
        (("--limit", "call_ms=0"), "call_ms"),
        (("--limit", "max_stdout_bytes=1e309"), "max_stdout_bytes"),
        (("--limit", "pids=ten"), "pids"),
        (("--limit", "wall_ms=5", "--limit", "write_ms="), "write_ms"),
        (("--no-such-option",), "--no-such-option"),
        (("--jobs", "0"), "--jobs"),
        (("--trials", "-1"), "--trials"),
        (("--trials", "nan"), "--trials"),
        (("--limit", "wal_ms=5"), "did you mean wall_ms"),
        (("--limit", "wall_ms"), "KEY=VALUE"),
        (("--only", "no-such"), "--only no-such"),
        (("--runtime", "no-such-runtime"), "no-such-runtime"),
        (("--agent", "Up/x"), "neither a folder nor an image name: Up/x"),
        (("--agent", "./no/such/folder"), "./no/such/folder"),
        (("--resume", "20000101-000000-abcdef"), "20000101-000000-abcdef"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path: Path, arguments: tuple[str, ...], named: str) -> None:
    done = fumehood("run", "packs/core", "--agent", "x", "--store", tmp_path / "store", *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert named in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "store").exists()


def test_nothing_to_run_is_no_pass(tmp_path: Path) -> None:
    pack = write_pack(tmp_path, scenario("kept", "finish('1')", holdout=True))
    done = fumehood("run", pack, "--agent", PUPPET, "--store", tmp_path / "store")
    assert done.returncode == 2
    assert "held out" in done.stderr
    assert fumehood("run", pack, "--store", tmp_path / "store").returncode == 2
    assert fumehood("run", "--store", tmp_path / "store").returncode == 2
    assert fumehood("run", tmp_path / "none.yaml", "--agent", PUPPET).returncode == 2


def test_json_on_stdout_is_one_document(tmp_path: Path) -> None:
    pack = write_pack(tmp_path, scenario("one", "finish('1')"))
    done = fumehood("run", pack, "--agent", PUPPET, "--store", tmp_path / "store", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"]["exit_code"] == 0
    assert "run " in done.stderr


def test_what_an_agent_says_never_steers_the_terminal(tmp_path: Path) -> None:
    """CSI, OSC 8, OSC 52 and C1 in an answer and in a name come out inert, on stdout and stderr (F58)."""
    nasty = r"finish('\x1b[2J\x1b]52;c;aGk=\x07\x1b]8;;http://x\x07\x9b31m\u202e')"
    checks = [{"check": "output_contains", "value": "nothing"}]
    pack = write_pack(tmp_path, scenario("one", nasty, checks=checks))
    done = fumehood("run", pack, "--agent", PUPPET, "--store", tmp_path / "store")
    shown = fumehood("runs", "show", "last", "puppet/one/1", "--store", tmp_path / "store")
    assert (done.returncode, shown.returncode) == (1, 0)
    assert "aGk=" in shown.stdout
    for text in (done.stdout, done.stderr, shown.stdout):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_every_command_shows_an_example_in_its_help() -> None:
    assert ROOT.joinpath("docs").is_dir()
    for command in (
        "audit verify",
        "doctor",
        "gc",
        "image build",
        "image check",
        "init",
        "pack check",
        "run",
        "runs list",
    ):
        done = fumehood(*command.split(), "--help")
        assert done.returncode == 0
        assert "fumehood" in done.stdout.partition("Example:")[2]

"""Tools answered by MCP servers in real containers: what such a server can do, and that its faults are the pack's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.app.images import locate_image
from harness.domain.outcome import Blame, End
from harness.domain.verdict import TrialVerdict
from harness.store.run import StoredRun
from tests.e2e.rig import (
    containers,
    engine,
    events,
    last,
    only,
    run_puppet,
    scenario,
    trial_events,
    verdicts,
    write_pack,
)
from tests.mcp_server import PROGRAM

pytestmark = pytest.mark.engine

CALL = "told = call('act', do={!r})\nfinish('done', told)"
HOSTILE = ("die", "hang", "garbage", "flood", "bomb", "memory")
IMAGE = "python:3.12-slim"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """One run: honest calls, and a scenario for each way in which the server misbehaves."""
    folder = tmp_path_factory.mktemp("served")
    server = {"image": IMAGE, "command": ["python3", "-u", "-c", PROGRAM], "env": {"TOKEN": "{{canary:TOKEN}}"}}
    ways = [scenario(way, CALL.format(way), allowed_tools=["act"]) for way in HOSTILE]
    pack = write_pack(
        folder,
        scenario("twice", "call('act')\nfinish('done', call('act'))", allowed_tools=["act"], trials=2),
        scenario("refused", "finish('done', call('act', do=5))", allowed_tools=["act"]),
        *ways,
        scenario("unserved", "finish('done')"),
        scenario("absent", "finish('done')", allowed_tools=["missing"]),
        canaries=["TOKEN"],
        tool_servers={"box": {**server, "timeout_ms": 4000}, "bare": {"image": IMAGE, "command": ["/not/there"]}},
        tools={
            "act": {
                "description": "Acts.",
                "input_schema": {"type": "object", "properties": {"do": {"type": "string"}}},
                "server": "box",
            },
            "missing": {"description": "None.", "input_schema": {}, "server": "bare"},
        },
    )
    run_puppet(pack, folder / "store", "--limit", "wall_ms=30000")
    return last(folder / "store")


def trials(run: StoredRun, name: str) -> list[TrialVerdict]:
    return [verdict for key, verdict in verdicts(run).items() if key.scenario == name]


def test_each_trial_has_a_server_of_its_own_in_a_closed_box(served: StoredRun) -> None:
    for trial in trials(served, "twice"):
        assert trial.end == "completed"
        told: list[Any] = [result["content"] for result in events(served, trial.key, "tool_result")]
        assert [one["calls"] for one in told] == [1, 2]
        assert told[0]["user"] != 0
        assert told[0]["network"] == "OSError"
        assert told[0]["root"] == "OSError"
        assert "TOKEN" in told[0]["env"]
        assert "OPENAI_API_KEY" not in told[0]["env"]
        assert "[redacted:canary" in told[0]["env"]["TOKEN"]


def test_the_gate_holds_calls_to_the_packs_schema(served: StoredRun) -> None:
    (trial,) = trials(served, "refused")
    (result,) = events(served, trial.key, "tool_result")
    assert (trial.end, result["status"]) == ("completed", "error")


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("die", "ended with exit code 3; last words: the disk is full"),
        ("hang", "gave no answer to act within 4000 ms"),
        ("garbage", "no JSON-RPC message"),
        ("flood", "bytes"),
        ("bomb", "deep"),
        ("memory", "tool server box"),
    ],
)
def test_a_server_that_misbehaves_is_the_packs_fault_and_leaves_nothing(served: StoredRun, way: str, why: str) -> None:
    (trial,) = trials(served, way)
    assert (trial.end, trial.blame, trial.counts) == ("pack_error", "pack", False)
    assert why in trial.reason


def test_a_server_that_cannot_start_ends_only_the_trials_that_need_it(served: StoredRun) -> None:
    (absent,), (plain,) = trials(served, "absent"), trials(served, "unserved")
    assert (absent.end, plain.end) == ("pack_error", "completed")
    assert "could not be started" in absent.reason


def test_no_container_is_left_and_the_image_is_pinned(served: StoredRun) -> None:
    assert containers(served.run_id) == []
    assert served.plan.verify_images[IMAGE] in {image["Id"] for image in engine().images()}


def test_an_image_of_a_server_that_is_not_there_stops_the_run_before_it_begins(tmp_path: Path) -> None:
    tool = {"description": "x", "input_schema": {}, "server": "gone"}
    pack = write_pack(
        tmp_path,
        scenario("one", "finish('done')", allowed_tools=["act"]),
        tool_servers={"gone": {"image": "127.0.0.1:1/not-there:1"}},
        tools={"act": tool},
    )
    done = run_puppet(pack, tmp_path / "store")
    assert done.returncode == 2
    assert "the image of its tool server gone cannot be used" in done.stderr


@pytest.fixture
def lent(tmp_path: Path) -> Iterator[str]:
    """An image name of this test alone, which it may take away."""
    name = f"127.0.0.1:1/taped-{tmp_path.parent.name.lower()}"
    engine().tag(locate_image(IMAGE), name, "1")
    yield f"{name}:1"
    if engine().images(name):
        engine().remove_image(f"{name}:1")


def story(run: StoredRun) -> str:
    """What every trial did and was told, to the byte."""
    kinds = ("tool_call", "tool_result", "trajectory")
    told = {str(key): [(e.kind, e.data) for e in found if e.kind in kinds] for key, found in trial_events(run).items()}
    return json.dumps(told)


def test_a_recording_is_played_the_same_twice_without_the_server_and_a_miss_is_no_live_call(
    tmp_path: Path, lent: str
) -> None:
    store, tape = tmp_path / "store", tmp_path / "tape.jsonl"
    server = {"image": lent, "command": ["python3", "-u", "-c", PROGRAM], "env": {"TOKEN": "{{canary:TOKEN}}"}}
    head: dict[str, Any] = {
        "canaries": ["TOKEN"],
        "tool_servers": {"box": server},
        "tools": {"act": {"description": "Acts.", "input_schema": {}, "server": "box"}},
    }

    def pack(code: str, **more: Any) -> Path:
        return write_pack(tmp_path, scenario("s", code, allowed_tools=["act"], **more), **head)

    twice = pack("finish('done', [call('act')['content']['calls'] for _ in range(2)])", trials=2)
    done = run_puppet(twice, store, "--record", tape)
    assert done.returncode == 0, done.stdout + done.stderr
    recorded = last(store)
    assert "{{canary:TOKEN}}" in tape.read_text()
    engine().remove_image(lent)

    played = []
    for _ in range(2):
        done = run_puppet(twice, store, "--tools", f"cassette:{tape}")
        assert done.returncode == 0, done.stdout + done.stderr
        played.append(story(last(store)))
    assert played[0] == played[1]
    assert last(store).plan.verify_images == {}
    for key in recorded.plan.cells():
        told = [[one["content"] for one in events(run, key, "tool_result")] for run in (recorded, last(store))]
        assert told[0] == told[1]
        assert [one["calls"] for one in told[1]] == [1, 2]
        assert "[redacted:canary" in told[1][0]["env"]["TOKEN"]

    more = pack("[call('act') for _ in range(3)]\nfinish('done')")
    assert run_puppet(more, store, "--tools", f"cassette:{tape}").returncode == 6
    end = only(last(store), "end")
    assert (end["end"], end["blame"], end["detail"]["code"]) == (End.PACK_ERROR, Blame.PACK, "cassette_miss")
    assert run_puppet(more, store).returncode == 2

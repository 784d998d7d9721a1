"""A run outlives its harness: killed, interrupted or told to stop, it goes on where it was, and leaves no container."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.app import owner
from harness.domain.ids import TrialKey
from harness.domain.run import RunState
from harness.store.run import StoredRun
from tests.e2e.rig import (
    PUPPET,
    SLOW_TOOL,
    containers,
    engine,
    fumehood,
    last,
    puppet_run,
    run_begun,
    scenario,
    score_lines,
    started,
    trial_events,
    until,
    write_pack,
)

pytestmark = pytest.mark.engine
KILLED_AT = (0, 3, 8, 13, 18)
"""How many trials are finished when the harness is killed; 0: as soon as there is a container."""
WORK = "call('wait'); note('x' * 2000); call('wait'); finish('done')"


def slow_pack(folder: Path, scenarios: int = 8, trials: int = 3, delay_ms: int = 300) -> Path:
    tool = {**SLOW_TOOL, "replies": [{"delay_ms": delay_ms, "return": 1}]}
    return write_pack(
        folder,
        *(scenario(f"s{i}", WORK, allowed_tools=["wait"], trials=trials) for i in range(scenarios)),
        tools={"wait": tool},
    )


@pytest.fixture
def neighbour() -> Iterator[dict[str, Any]]:
    """A container of another run that is going on: its owner is this process."""
    fumehood("image", "build", PUPPET)
    labels = {"fumehood.run": "neighbour", "fumehood.trial": "a/b/1", "fumehood.owner": owner.me()}
    made = engine().create_container("fumehood/puppet", entrypoint=["sleep", "600"], command=[], labels=labels)
    engine().start(made)
    yield engine().inspect_container(made)
    engine().remove_container(made, force=True)


def finished(run: StoredRun) -> dict[TrialKey, bytes]:
    return {key: run.journal(key).read_bytes() for key in run.finished()}


def test_killed_five_times_it_loses_nothing_and_repeats_nothing(tmp_path: Path, neighbour: dict[str, Any]) -> None:
    store = tmp_path / "store"
    command = puppet_run(slow_pack(tmp_path), store, "--jobs", 3)
    kept: dict[TrialKey, bytes] = {}
    for count in KILLED_AT:
        with started(*command) as process:
            run = until("a run", lambda: run_begun(store))
            until(f"{count} finished trials", lambda: len(run.finished()) >= count and containers(run.run_id))  # noqa: B023
            process.send_signal(signal.SIGKILL)
            process.wait()
        now = finished(run)
        assert {key: now.get(key) for key in kept} == kept
        assert len(now) < run.plan.planned
        assert run.state() is RunState.INTERRUPTED
        kept = now
        command = ["run", "--resume", run.run_id, "--store", store, "--jobs", 3]
    done = fumehood(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    check_complete(run, kept)
    assert containers(run.run_id) == []
    same = engine().inspect_container(neighbour["Id"])
    assert (same["State"], same["RestartCount"]) == (neighbour["State"], neighbour["RestartCount"])
    verified = fumehood("audit", "verify", "last", "--store", store)
    assert verified.returncode == 0, verified.stdout


def check_complete(run: StoredRun, kept: dict[TrialKey, bytes]) -> None:
    """Every planned trial has one finished journal and one score; what was finished before is as it was."""
    assert run.state() is RunState.FINISHED
    now = finished(run)
    assert set(now) == set(run.plan.cells())
    assert {key: now[key] for key in kept} == kept
    assert sorted(score_lines(run)) == sorted(map(str, run.plan.cells()))
    for key, events in trial_events(run).items():
        kinds = [event.kind for event in events]
        assert (kinds.count("trial"), kinds.count("invoke"), kinds.count("end")) == (1, 1, 1), key
        assert events[-1].data["end"] == "completed"


def test_what_was_scored_halfway_is_scored_once(tmp_path: Path) -> None:
    """Killed between a trial's last line and its score, or within the score's line."""
    store = tmp_path / "store"
    fumehood(*puppet_run(slow_pack(tmp_path, 3, 1, 1), store))
    run = last(store)
    kept = finished(run)
    scores = run.path / "scores.jsonl"
    lines = scores.read_bytes().splitlines(keepends=True)
    scores.write_bytes(b"".join(lines[:-2]) + lines[-2][:40])
    (run.path / "manifest.json").unlink()
    done = fumehood("run", "--resume", "last", "--store", store)
    assert done.returncode == 0, done.stdout + done.stderr
    check_complete(run, kept)


def test_a_journal_cut_off_in_a_line_is_run_again_and_kept_aside(tmp_path: Path) -> None:
    store = tmp_path / "store"
    fumehood(*puppet_run(slow_pack(tmp_path, 2, 1, 1), store))
    run = last(store)
    cut = run.journal(TrialKey("puppet", "s0", 1))
    cut.write_bytes(cut.read_bytes()[:-30])
    (run.path / "manifest.json").unlink()
    (run.path / "scores.jsonl").write_bytes(b"")
    assert fumehood("run", "--resume", "last", "--store", store).returncode == 0
    check_complete(run, {})
    assert cut.with_name("1.partial-1.jsonl").is_file()
    assert fumehood("audit", "verify", "last", "--store", store).returncode == 0


def test_ctrl_c_finishes_what_runs_and_resume_does_the_rest(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with started(*puppet_run(slow_pack(tmp_path, 6, 2), store, "--jobs", 3)) as process:
        run = until("a run", lambda: run_begun(store))
        until("2 finished trials", lambda: len(run.finished()) >= 2)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 6, said
    assert "finishing the trials that are running" in said
    assert "Traceback" not in said
    kept = finished(run)
    assert 2 <= len(kept) < 12
    assert not [path for path in (run.path / "trials").rglob("*.jsonl") if path not in map(run.journal, kept)]
    assert run.state() is RunState.INTERRUPTED
    assert containers(run.run_id) == []
    assert fumehood("audit", "verify", "last", "--store", store).returncode == 0
    done = fumehood("run", "--resume", run.run_id, "--store", store)
    assert done.returncode == 0, done.stdout + done.stderr
    check_complete(run, kept)


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_told_to_stop_at_once_it_does_and_leaves_no_container(tmp_path: Path, signals: tuple[signal.Signals]) -> None:
    store = tmp_path / "store"
    with started(*puppet_run(slow_pack(tmp_path, 4, 1, 60_000), store, "--jobs", 3)) as process:
        run = until("a run", lambda: run_begun(store))
        until("3 containers at work", lambda: len([c for c in containers(run.run_id) if c["State"] == "running"]) == 3)
        began = time.monotonic()
        for number in signals:
            process.send_signal(number)
            time.sleep(0.5)
        said, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < 20
    assert process.returncode == 6, said
    assert "stopping now" in said
    assert "Traceback" not in said
    assert containers(run.run_id) == []
    assert run.finished() == set()


def test_a_signal_before_the_first_trial_ends_it_without_a_traceback(tmp_path: Path) -> None:
    for number, codes in ((signal.SIGINT, {130}), (signal.SIGTERM, {143, -signal.SIGTERM})):
        with started(*puppet_run(slow_pack(tmp_path, 1, 1), tmp_path / "store")) as process:
            until("the command has begun", lambda: _is_waiting_on_the_engine(process.pid))
            process.send_signal(number)
            said, _ = process.communicate(timeout=30)
        assert process.returncode in codes, said
        assert "Traceback" not in said


def _is_waiting_on_the_engine(pid: int) -> bool:
    """It holds a socket: the agent's image is being built."""
    try:
        return any("socket:" in os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def test_two_cannot_run_the_same_run(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with started(*puppet_run(slow_pack(tmp_path, 2, 1, 3000), store)) as process:
        run = until("a container", lambda: (r := run_begun(store)) and containers(r.run_id) and r)
        second = fumehood("run", "--resume", run.run_id, "--store", store)
        assert second.returncode == 2
        assert f"is being run by process {process.pid}" in second.stderr
        assert process.wait(60) == 0


def test_a_run_does_not_go_on_with_another_pack(tmp_path: Path) -> None:
    store, pack = tmp_path / "store", slow_pack(tmp_path, 1, 1, 1)
    fumehood(*puppet_run(pack, store))
    pack.write_text(pack.read_text().replace("done", "other"))
    done = fumehood("run", "--resume", "last", "--store", store)
    assert done.returncode == 2
    assert "is not the one run" in done.stderr

"""What is taken away from under a run is charged to nobody but us, tried again within bounds, and counted."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from docker import errors as docker_errors

from harness.domain.ids import TrialKey
from harness.domain.spec import Policy
from harness.store.run import StoredRun
from tests.e2e.rig import (
    SLOW_TOOL,
    containers,
    engine,
    events,
    fumehood,
    puppet_run,
    run_begun,
    scenario,
    started,
    until,
    verdicts,
    write_pack,
)

pytestmark = pytest.mark.engine
KEY = TrialKey("puppet", "one", 1)


def pack_of(folder: Path, delay_ms: int, trials: int = 1) -> Path:
    tool = {**SLOW_TOOL, "replies": [{"delay_ms": delay_ms, "return": 1}]}
    slow = scenario("one", "call('wait'); finish('done')", allowed_tools=["wait"], trials=trials)
    return write_pack(folder, slow, tools={"wait": tool})


def at_work(run: StoredRun, but: set[str]) -> str:
    """A container of the run whose agent waits for its tool, other than those given."""
    there = [c["Id"] for c in containers(run.run_id) if c["State"] == "running" and c["Id"] not in but]
    called = run.journal(KEY).is_file() and b'"tool_call"' in run.journal(KEY).read_bytes()
    return str(there[0]) if there and called else ""


def test_killed_each_time_it_gives_up_without_a_score(tmp_path: Path) -> None:
    store, lost = tmp_path / "store", set[str]()
    with started(*puppet_run(pack_of(tmp_path, 60_000), store)) as process:
        run = until("a run", lambda: run_begun(store))
        for attempt in range(1 + Policy().engine_retries):
            ident = until(f"attempt {attempt + 1}", lambda: at_work(run, lost))
            lost.add(ident)
            if attempt == 1:
                engine().remove_container(ident, force=True)
            else:
                engine().kill(ident)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 6, said
    assert "NO VERDICT (exit 6)" in said
    assert "container_lost" in said
    verdict = verdicts(run)[KEY]
    assert (verdict.end, verdict.blame, verdict.attempt) == ("container_lost", "harness", 3)
    assert (verdict.counts, verdict.passed, verdict.checks) == (False, False, ())
    assert sorted(path.name for path in run.journal(KEY).parent.iterdir()) == [
        "1.attempt-1.jsonl",
        "1.attempt-2.jsonl",
        "1.jsonl",
    ]
    assert containers(run.run_id) == []
    assert fumehood("audit", "verify", "last", "--store", store).returncode == 0


@pytest.mark.parametrize("name", ["KILL", "TERM"])
def test_ended_once_from_outside_it_is_run_again_in_a_fresh_container(tmp_path: Path, name: str) -> None:
    """TERM: what `docker stop` and an engine that is shut down send."""
    store = tmp_path / "store"
    with started(*puppet_run(pack_of(tmp_path, 3000), store)) as process:
        run = until("a run", lambda: run_begun(store))
        first = until("a call", lambda: at_work(run, set()))
        engine().kill(first, name)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    verdict = verdicts(run)[KEY]
    assert (verdict.end, verdict.attempt) == ("completed", 2)
    (start,) = events(run, KEY, "start")
    assert not first.startswith(start["container"])


def test_an_image_deleted_before_resume_is_friction(tmp_path: Path) -> None:
    store, tag = tmp_path / "store", "fumehood-e2e/deleted"
    pack = pack_of(tmp_path, 1500, trials=3)
    agent = tmp_path / "deleted"
    agent.mkdir()
    for name in ("Dockerfile", "agent.py"):
        text = (Path(__file__).parents[1] / "e2e/puppet" / name).read_text()
        (agent / name).write_text(text + f"# {tmp_path}\n")
    assert fumehood("image", "build", agent, "-t", tag).returncode == 0
    with started("run", pack, "--agent", tag, "--jobs", 1, "--store", store) as process:
        run = until("a run", lambda: run_begun(store))
        until("a finished trial", lambda: run.finished())
        process.kill()
    digest = engine().inspect_image(tag)["Id"]
    for copy in engine().images(filters={"label": f"fumehood.source={digest}"}):
        for left in engine().containers(all=True, filters={"ancestor": copy["Id"]}):
            engine().remove_container(left["Id"], force=True)
        engine().remove_image(copy["Id"], force=True)
    engine().remove_image(tag, force=True)
    done = fumehood("run", "--resume", "last", "--store", store)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "image_missing" in done.stdout
    assert "Traceback" not in done.stderr
    ends = sorted(verdict.end for verdict in verdicts(run).values())
    assert set(ends) == {"completed", "image_missing"}
    assert len(ends) == 3


def test_an_image_deleted_under_a_run_costs_no_trial(tmp_path: Path) -> None:
    """The prepared copy goes between two trials: it is made again."""
    store = tmp_path / "store"
    with started(*puppet_run(pack_of(tmp_path, 1500, trials=2), store, "--jobs", 1)) as process:
        run = until("a run", lambda: run_begun(store))
        ident = until("a call", lambda: at_work(run, set()))
        prepared = engine().inspect_container(ident)["Image"]
        until("a finished trial", lambda: run.finished() or _remove(prepared))
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert [verdict.end for verdict in verdicts(run).values()] == ["completed", "completed"]


def _remove(image: str) -> bool:
    """Untag it now; the layers go with the last container."""
    with contextlib.suppress(docker_errors.APIError):
        engine().remove_image(image, force=True)
    return False

"""Many trials at once leave nothing behind and take nothing that there is only little of (F42)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.app import owner
from tests.e2e.rig import (
    PUPPET,
    containers,
    engine,
    fumehood,
    last,
    run_begun,
    scenario,
    started,
    until,
    verdicts,
    write_pack,
)

pytestmark = pytest.mark.engine


def test_forty_trials_of_two_agents_make_no_network_and_no_volume(tmp_path: Path) -> None:
    store = tmp_path / "store"
    pack = write_pack(tmp_path, *(scenario(f"s{i}", "finish('done')", trials=5) for i in range(4)))
    since = int(time.time())
    done = fumehood("run", pack, "--agent", PUPPET, "--agent", PUPPET, "--jobs", 8, "--store", store)
    made = engine().events(
        since=since, until=int(time.time()) + 1, decode=True, filters={"type": ["network", "volume"], "event": "create"}
    )
    assert list(made) == []
    assert done.returncode == 0, done.stdout + done.stderr
    run = last(store)
    assert {agent.name for agent in run.plan.agents} == {"puppet", "puppet-2"}
    assert len(verdicts(run)) == 40
    assert all(verdict.passed for verdict in verdicts(run).values())
    assert containers(run.run_id) == []


def test_every_container_is_hardened_and_has_no_network_and_no_log(tmp_path: Path) -> None:
    pack = write_pack(tmp_path, scenario("one", "time.sleep(60)"))
    store = tmp_path / "store"
    with started("run", pack, "--agent", PUPPET, "--store", store, "--limit", "idle_ms=60000") as process:
        ident = until("a container", lambda: (run := run_begun(store)) and running(run.run_id))
        box = engine().inspect_container(ident)
        process.terminate()
        process.communicate(timeout=30)
    host, config = box["HostConfig"], box["Config"]
    assert host["NetworkMode"] == "none"
    assert host["LogConfig"]["Type"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert not host["Binds"]
    assert not [mount for mount in box["Mounts"] if mount["Type"] != "tmpfs"]
    assert host["Memory"] == host["MemorySwap"] == 512 * 1024 * 1024
    assert host["PidsLimit"] == 128
    assert config["Tty"] is False
    assert config["User"].split(":")[0] not in ("", "0", "root")
    assert config["Labels"]["fumehood.trial"] == "puppet/one/1"
    assert set(config["Labels"]) >= {"fumehood.run", "fumehood.trial", "fumehood.owner"}
    assert not owner.is_living(config["Labels"]["fumehood.owner"])  # its process has ended since


def running(run_id: str) -> str:
    return next((str(c["Id"]) for c in containers(run_id) if c["State"] == "running"), "")

"""What doctor says of engines and machines of every kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from harness.app.doctor import examine, free_space, guard, judge_engine, version_tuple, writable
from harness.cli.doctor import doctor
from harness.engines.facts import EngineFacts

SOUND = EngineFacts(
    version="28.1.0",
    api_version="1.49",
    host_os="Debian",
    cgroup_version="2",
    cgroup_driver="systemd",
    storage_driver="overlay2",
    backing_filesystem="extfs",
    runtimes=("runc",),
    security=("name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"),
    runc="1.2.6",
    containerd="1.7.27",
    memory_limit=True,
    swap_limit=True,
    pids_limit=True,
    cpu_limit=True,
    image_tags=frozenset({"python:3.12-slim", "node:20-slim", "busybox:1.36", "golang:1.22"}),
    our_containers=(),
)


def levels(**changes: Any) -> dict[str, str]:
    """Finding name to level, for a sound engine changed as told."""
    return {f.name: f.level for f in judge_engine(msgspec.structs.replace(SOUND, **changes))}


def test_a_sound_engine_has_no_finding_but_ok() -> None:
    assert set(levels().values()) == {"ok"}


@pytest.mark.parametrize(
    ("changes", "name", "level"),
    [
        ({"api_version": "1.40"}, "engine", "fail"),
        ({"api_version": ""}, "engine", "fail"),
        ({"cgroup_version": "1", "security": ("name=seccomp,profile=default", "name=rootless")}, "cgroup", "fail"),
        ({"cgroup_version": "1"}, "cgroup", "ok"),
        ({"memory_limit": False}, "limits", "fail"),
        ({"pids_limit": False}, "limits", "fail"),
        ({"swap_limit": False}, "limits", "warn"),
        ({"storage_driver": "vfs"}, "storage", "warn"),
        ({"security": ()}, "seccomp", "fail"),
        ({"security": ("name=seccomp,profile=unconfined",)}, "seccomp", "fail"),
        ({"runc": "1.1.5+ds1"}, "runc", "warn"),
        ({"runc": "1.1.12"}, "runc", "ok"),
        ({"runc": ""}, "runc", "warn"),
        ({"containerd": "1.6.20~ds1"}, "containerd", "warn"),
        ({"containerd": "v2.0.4"}, "containerd", "ok"),
        ({"image_tags": frozenset({"python:3.12-slim"})}, "base images", "warn"),
        ({"our_containers": ("a (running)",)}, "containers", "warn"),
    ],
)
def test_each_weakness_has_its_level(changes: dict[str, Any], name: str, level: str) -> None:
    assert levels(**changes)[name] == level


def test_every_warning_and_failure_of_a_poor_engine_says_what_to_do() -> None:
    poor = msgspec.structs.replace(
        SOUND, api_version="1.12", memory_limit=False, security=(), storage_driver="vfs", runc="1.0", containerd="1.0",
        image_tags=frozenset(), our_containers=("a (exited)",),
    )  # fmt: skip
    bad = [finding for finding in judge_engine(poor) if finding.level != "ok"]
    assert len(bad) == 8
    assert all(finding.remedy for finding in bad)


def test_stand_ins_are_as_good_as_public_bases() -> None:
    tags = frozenset(f"fumehood-base/{name}:latest" for name in ("python", "node", "busybox", "golang"))
    assert levels(image_tags=tags)["base images"] == "ok"


def test_the_guard_needs_a_compiler_or_a_binary(tmp_path: Path) -> None:
    binary = tmp_path / "guard"
    binary.write_bytes(b"\x7fELF")
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    assert guard({"FUMEHOOD_GUARD": str(binary)}).level == "ok"
    assert guard({"FUMEHOOD_GUARD": str(tmp_path / "none"), "PATH": str(tmp_path)}).level == "fail"
    assert guard({"PATH": str(tmp_path)}).level == "ok"
    assert guard({"PATH": str(tmp_path / "empty")}).level == "fail"


def test_a_store_under_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert writable(tmp_path / "new" / "store").level == "ok"
    assert writable(tmp_path / "file" / "store").level == "fail"
    assert free_space(tmp_path / "file" / "store").level in ("ok", "warn")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_without_an_engine_doctor_exits_6_with_a_remedy_and_json_stays_one_document(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.chdir(tmp_path)
    text = CliRunner().invoke(doctor, [])
    assert text.exit_code == 6
    assert "Traceback" not in text.output
    assert "fail  engine" in text.output
    assert "DOCKER_HOST" in text.output
    shown = CliRunner().invoke(doctor, ["--format", "json"])
    assert shown.exit_code == 6
    found = {finding["name"]: finding for finding in json.loads(shown.stdout)}
    assert found["engine"]["level"] == "fail"
    assert found["store"]["level"] == "ok"


@pytest.mark.parametrize("host", ["nonsense", "tcp://127.0.0.1:1", "ftp://x", "unix:///proc/none"])
def test_no_docker_host_breaks_doctor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    first = examine(tmp_path / "store", {"PATH": ""})[0]
    assert (first.name, first.level, bool(first.remedy)) == ("engine", "fail", True)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=4), st.sampled_from(["", "+ds1", "~rc2", "-ce"]))
def test_versions_are_read_by_their_leading_numbers(parts: list[int], tail: str) -> None:
    assert version_tuple(".".join(map(str, parts)) + tail) == tuple(parts)


@given(st.text())
def test_any_version_text_is_read_without_error(text: str) -> None:
    assert all(isinstance(part, int) for part in version_tuple(text))

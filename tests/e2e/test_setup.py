"""Setting up and cleaning up on the real machine and engine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.app import owner
from harness.app.images import build, build_probe, resolve_agent
from harness.domain.ids import OWNER_LABEL
from harness.engines import builder
from harness.engines.client import connect
from harness.engines.prepared import fresh_name
from harness.errors import ImageMissing

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parents[2]


def fumehood(*arguments: str, on: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The command as a user starts it; with `on`, where the host is called so."""
    renamed = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', on] if on else []
    return subprocess.run(
        [*renamed, sys.executable, "-c", "from harness.cli.main import main; main()", *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False, cwd=ROOT,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_setup_is_quick_and_changes_nothing_the_second_time() -> None:
    subprocess.run([ROOT / "script/setup", "python"], check=True, capture_output=True, timeout=600)
    before = (ROOT / ".venv/.setup-stamp").stat().st_mtime_ns
    began = time.monotonic()
    again = subprocess.run([ROOT / "script/setup"], check=True, capture_output=True, text=True, timeout=600)
    assert time.monotonic() - began < 20
    assert again.stderr.startswith("setup: ready")
    assert (ROOT / ".venv/.setup-stamp").stat().st_mtime_ns == before


def test_setup_never_starts_an_engine_where_one_was_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "script/setup"], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"},
    )  # fmt: skip
    assert done.returncode == 6
    assert "DOCKER_HOST" in done.stderr
    assert "do:" in done.stderr


def test_doctor_finds_nothing_failing_here() -> None:
    done = fumehood("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fail " not in done.stdout


def test_an_unknown_context_is_told_without_a_traceback() -> None:
    done = fumehood("gc", DOCKER_HOST="", DOCKER_CONTEXT="not-there")
    assert done.returncode == 2
    assert "not-there" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_agent_builds_with_the_image_of_ours_it_stands_on() -> None:
    ref, digest = build(ROOT / "agent-images/reference-support")
    assert ref == "fumehood/reference-support"
    assert digest.startswith("sha256:")
    assert builder.exists("fumehood/python")
    assert resolve_agent(str(ROOT / "agent-images/reference-support")) == ref


def test_a_probe_is_built_by_name() -> None:
    name = next(path.stem for path in sorted((ROOT / "agent-images/probes").rglob("*.py")) if path.stem.islower())
    ref = build_probe(name)
    assert ref == f"fumehood/probe-{name.replace('_', '-')}"
    assert builder.exists(ref)


def test_a_base_that_nobody_has_is_named(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("ARG BASE=127.0.0.1:1/nobody/nothing:0\nFROM ${BASE}\n")
    with pytest.raises(ImageMissing, match="nobody/nothing:0"):
        build(tmp_path, f"fumehood-test/{uuid.uuid4().hex}")


@pytest.fixture
def box() -> Iterator[Callable[[str | None], str]]:
    """Makes containers owned by whoever is named (None: not ours at all); removes what is left."""
    client, made = connect(), []

    def make(label: str | None) -> str:
        labels = {} if label is None else {OWNER_LABEL: label}
        name = None if label is None else fresh_name()
        made.append(client.create_container("fumehood/python", ["true"], name=name, labels=labels)["Id"])
        return str(made[-1])

    yield make
    left = {found["Id"] for found in client.containers(all=True)}
    for ident in left & set(made):
        client.remove_container(ident, force=True)
    client.close()


def test_gc_removes_the_orphan_only(box: Callable[[str | None], str]) -> None:
    """On a host of another name, so that the runs of other tests, which reap too, leave the orphan to this one."""
    ghost = f"ghost-{uuid.uuid4().hex[:8]}"
    _, boot, space, pid, started = owner.me().split(":")
    build(ROOT / "agent-images/python")
    orphan = box(f"{ghost}:{boot}:{space}:1:1")
    living, foreign = box(f"{ghost}:{boot}:{space}:{pid}:{started}"), box(None)
    planned = fumehood("gc", "--dry-run", on=ghost)
    assert f"would remove container {orphan[:12]}" in planned.stdout
    assert there(orphan)
    done = fumehood("gc", on=ghost)
    assert done.returncode == 0
    assert f"removed container {orphan[:12]}" in done.stdout
    assert living[:12] not in done.stdout
    assert (there(orphan), there(living), there(foreign)) == (False, True, True)


def there(ident: str) -> bool:
    client = connect()
    try:
        return ident in {found["Id"] for found in client.containers(all=True)}
    finally:
        client.close()

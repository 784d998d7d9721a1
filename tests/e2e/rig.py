"""The command as a user starts it, packs made on the spot for the puppet agent, and what a run left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from docker import APIClient

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.verdict import TrialVerdict
from harness.engines.client import connect
from harness.store.run import StoredRun
from harness.store.store import Store

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("fumehood")
PUPPET = ROOT / "tests/e2e/puppet"
QUICK = ("startup_ms=15000", "idle_ms=40000", "cancel_grace_ms=200", "term_grace_ms=200")
SLOW_TOOL = {"description": "Waits.", "input_schema": {"type": "object"}, "replies": [{"delay_ms": 400, "return": 1}]}


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200", **(extra or {})}


def fumehood(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the installed command to its end, away from any terminal."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=240,
        check=False, cwd=ROOT, env=environment(env),
    )  # fmt: skip


@contextmanager
def started(*arguments: object, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """The installed command, going on; killed where the test leaves it behind. Its output is one stream."""
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        stdin=subprocess.DEVNULL, cwd=ROOT, env=environment(env), preexec_fn=_heed_interrupts,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _heed_interrupts() -> None:
    """As from a terminal: a shell's background job, which a test run may be, ignores SIGINT and passes that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until(what: str, true: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until `true()` is, and give what it gave."""
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end, f"waited {seconds} s in vain for {what}"
        time.sleep(0.02)
    return value


def scenario(name: str, code: str, **more: Any) -> dict[str, Any]:
    """One scenario in which the puppet runs `code`."""
    return {"id": name, "input": textwrap.dedent(code), **more}


def write_pack(folder: Path, *scenarios: dict[str, Any], **more: Any) -> Path:
    """A pack file of these scenarios."""
    path = folder / "pack.json"
    head = {"fumehood": 1, "pack": {"name": "made-up", "version": "1"}}
    path.write_text(json.dumps({**head, **more, "scenarios": list(scenarios)}))
    return path


def run_puppet(pack: Path, store: Path, *more: object, env: Mapping[str, str] | None = None) -> Any:
    """`fumehood run` of a pack with the puppet."""
    return fumehood(*puppet_run(pack, store, *more), env=env)


def puppet_run(pack: Path, store: Path, *more: object) -> list[object]:
    limits = [part for limit in QUICK for part in ("--limit", limit)]
    return ["run", pack, "--agent", PUPPET, "--store", store, *limits, *more]


def last(store: Path) -> StoredRun:
    """The newest run of a store."""
    return Store(store).open_run("last")


def run_begun(store: Path) -> StoredRun | None:
    return last(store) if Store(store).ids() else None


def events(run: StoredRun, key: TrialKey, kind: str) -> list[dict[str, Any]]:
    """The data of a trial's events of one kind."""
    return [event.data for event in run.events(key) if event.kind == kind]


def only(run: StoredRun, kind: str) -> dict[str, Any]:
    """The one event of this kind in a run of one trial."""
    (key,) = run.plan.cells()
    (data,) = events(run, key, kind)
    return data


def verdicts(run: StoredRun) -> dict[TrialKey, TrialVerdict]:
    return {verdict.key: verdict for verdict in run.scores()}


def score_lines(run: StoredRun) -> list[str]:
    """The keys of all lines of the scores file, twice where a trial was scored twice."""
    lines = (run.path / "scores.jsonl").read_bytes().splitlines()
    return [str(msgspec.json.decode(line, type=TrialVerdict).key) for line in lines]


def trial_events(run: StoredRun) -> dict[TrialKey, list[Event]]:
    return {key: list(run.events(key)) for key in run.plan.cells()}


@cache
def engine() -> APIClient:
    return connect()


def containers(run_id: str) -> list[dict[str, Any]]:
    """Containers of a run, dead or alive."""
    found: list[dict[str, Any]] = engine().containers(all=True, filters={"label": f"fumehood.run={run_id}"})
    return found

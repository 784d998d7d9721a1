"""Trials of the probe `puppet` without a container: its real program, the real session and rules, the real scoring."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from msgspec import UNSET

from harness.app.clock import MonotonicClock
from harness.app.kit import make_kit
from harness.app.selftest import SELFTEST_LIMITS
from harness.boundary.environment import WORKSPACE
from harness.boundary.redaction import Scrubber
from harness.domain.ids import TrialKey
from harness.domain.judge import JudgeRef, JudgeSettings
from harness.domain.pack import Scenario
from harness.domain.spec import AgentRef, Policy, TrialSpec
from harness.domain.verdict import TrialVerdict
from harness.domain.workspace import WorkFile
from harness.runs.trial import run_trial
from harness.scoring.judge.judge import Judge
from harness.scoring.score import examine_trial
from harness.testing.engine import Inside, MemoryEngine
from harness.testing.judge import KeywordJudge
from tests.support import ListJournal

PUPPET = Path(__file__).parents[3] / "agent-images" / "probes" / "puppet.py"


async def puppet(inside: Inside) -> int:
    """The program itself, its stdin and stdout those of the container in memory, its workspace a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        _lay_out(inside, Path(folder))
        code = await _played(inside, folder)
        inside.workspace = {file.path: file for file in _found(Path(folder))}
        return code


async def hidden_tests(inside: Inside) -> int:
    """The command of the container, in a folder that holds its workspace."""
    with tempfile.TemporaryDirectory() as folder:
        _lay_out(inside, Path(folder))
        done = await anyio.run_process([sys.executable, *inside.command[1:]], cwd=folder, check=False)
        return done.returncode


def _lay_out(inside: Inside, folder: Path) -> None:
    for file in inside.workspace.values():
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_bytes(file.content)


def _found(folder: Path) -> Iterator[WorkFile]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield WorkFile(str(path.relative_to(folder)), path.read_bytes())


async def _played(inside: Inside, folder: str) -> int:
    command = [sys.executable, "-B", str(PUPPET)]
    async with await anyio.open_process(command, env=dict(inside.env), stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_feed, inside, process.stdin, folder)
                async for chunk in process.stdout:
                    await inside.write(chunk)
                tasks.cancel_scope.cancel()
        finally:
            if process.returncode is None and inside.term.is_set():
                process.kill()
        return await process.wait()


async def _feed(inside: Inside, stdin: Any, folder: str) -> None:
    while (line := await inside.read_line()) is not None:
        await stdin.send(line.replace(WORKSPACE.encode(), folder.encode()) + b"\n")
    await stdin.aclose()


def simulate(scenario: Scenario) -> TrialVerdict:
    """The verdict of one trial of a scenario played by the puppet."""
    return anyio.run(partial(_simulate, scenario))


async def _simulate(scenario: Scenario) -> TrialVerdict:
    journals: list[ListJournal] = []

    def open_journal(spec: TrialSpec, scrubber: Scrubber) -> ListJournal:
        journals.append(ListJournal(scrubber))
        return journals[-1]

    key = TrialKey("agent", scenario.id, 1)
    spec = TrialSpec("run-1", key, AgentRef("agent", "puppet"), scenario, Policy(), SELFTEST_LIMITS, 7)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            engine = MemoryEngine(tasks, {"puppet": puppet, "tests": hidden_tests})
            tests = {} if scenario.verify is UNSET else {scenario.verify.image: await engine.inspect("tests")}
            kit = partial(make_kit, open_journal=open_journal, operator_secrets={}, verify_images=tests)
            await run_trial(spec, await engine.inspect("puppet"), engine, kit, MonotonicClock())
            tasks.cancel_scope.cancel()
    judge = Judge(JudgeRef("keywords"), KeywordJudge(), JudgeSettings())
    return await judge.settle(examine_trial(journals[0].events, scenario))

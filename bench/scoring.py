"""Scoring stored runs again: the real command's code, each count in a process of its own, over a store made before."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
from msgspec import Struct, structs, to_builtins
from rich.console import Console

from bench.figures import Figure
from bench.memory import agent, peak_rss_kb
from bench.rig import AGENT, HERE, PACK, Rig, Work, pack_ref
from harness.app import packs
from harness.app.score import ScoreRequest, execute
from harness.app.secrets import operator_secrets
from harness.boundary.redaction import Scrubber
from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.pack import Pack
from harness.domain.run import PlanRow
from harness.packs.resolve import digest_of
from harness.scoring.bars import judge_run
from harness.scoring.score import score_trial
from harness.store.run import RunWriter
from harness.store.store import Store
from harness.testing.engine import MemoryEngine

COUNTS = (1000, 10_000)
SCENARIOS = 100
"""Copies of one scenario that the trials are spread over, as in a pack of some size."""
SCENARIO = "one-call"


class Scored(Struct, frozen=True):
    """`rss_mb`: the most that was resident at once in the process that scored; `ms`: wall time of a trial."""

    trials: int
    rss_mb: float
    ms: float


def score() -> list[Figure]:
    """MB at most and ms a trial, for each count of stored trials."""
    figures = []
    for count in COUNTS:
        with tempfile.TemporaryDirectory(prefix="fumehood-bench-") as root:
            make_run(Path(root), count)
            command = [sys.executable, "-m", "bench.scoring", root]
            done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
        scored = Scored(**json.loads(done.stdout.splitlines()[-1]))
        assert scored.trials == count, f"{scored.trials} of {count} trials were scored"
        figures.append(Figure(f"{count} stored trials scored again, peak RSS", "MB", scored.rss_mb))
        figures.append(Figure(f"{count} stored trials scored again", "ms a trial", scored.ms))
    return figures


def make_run(root: Path, count: int) -> None:
    """A sealed run of `count` trials: one really run over the engine in memory, its journal written anew for each."""
    rig, events = anyio.run(_one_trial)
    scenarios = min(SCENARIOS, count)
    assert count % scenarios == 0, f"{count} trials cannot be spread over {scenarios} scenarios"
    pack = _wide_pack(scenarios)
    plan = rig.plan(Work(SCENARIO))
    rows = tuple(PlanRow(AGENT, scenario.id, count // scenarios) for scenario in pack.scenarios)
    run = Store(root).create_run(structs.replace(plan, rows=rows, pack=pack_ref(pack)), pack)
    scrubber = Scrubber(operator_secrets())
    with run.lock():
        writer = RunWriter(run, scrubber)
        by_id = {scenario.id: scenario for scenario in pack.scenarios}
        for key in run.plan.cells():
            own = [structs.replace(event, data=_of_trial(event, key)) for event in events]
            journal = writer.open_journal(key, scrubber)
            for event in own:
                journal.append(event.kind, event.source, event.t, event.data)
            journal.close()
            writer.put_verdict(score_trial(own, by_id[key.scenario]))
        verdict = judge_run(run.scores(), pack.bars, run.plan.planned)
        writer.seal(run.plan.created, True, to_builtins(verdict))


def _wide_pack(scenarios: int) -> Pack:
    pack = packs.load(PACK)
    one = next(scenario for scenario in pack.scenarios if scenario.id == SCENARIO)
    copies = tuple(structs.replace(one, id=f"{SCENARIO}-{number}") for number in range(scenarios))
    wide = structs.replace(pack, scenarios=copies)
    return structs.replace(wide, digest=digest_of(wide))


async def _one_trial() -> tuple[Rig, list[Event]]:
    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {AGENT: agent})
        rig = Rig(engine, await engine.inspect(AGENT))
        done = await rig.run(Work(SCENARIO))
        tasks.cancel_scope.cancel()
    return rig, done.events


def _of_trial(event: Event, key: TrialKey) -> dict[str, object]:
    if event.kind == "end":
        return {**event.data, "key": to_builtins(key)}
    if event.kind == "trial":
        return {**event.data, "scenario": key.scenario, "trial": key.trial}
    return event.data


def measure(root: Path) -> Scored:
    """Score the run of the store here. The peak is this process's whole life so far."""
    began = time.perf_counter()
    done = execute(ScoreRequest(run="last", store=root), Console(file=sys.stderr))
    assert done is not None, "interrupted"
    trials = done.view.verdict.passed
    ms = (time.perf_counter() - began) * 1000 / trials
    return Scored(trials, round(peak_rss_kb() / 1024, 1), round(ms, 3))


if __name__ == "__main__":
    print(json.dumps(to_builtins(measure(Path(sys.argv[1])))))

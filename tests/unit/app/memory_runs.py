"""Whole runs made by the real run loop over the engine in memory, for tests of what reads stored runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec

from harness import __version__
from harness.app import packs
from harness.app.clock import MonotonicClock
from harness.app.judge import opened_judge
from harness.app.kit import make_kit
from harness.app.scored import yardstick
from harness.boundary.redaction import Scrubber
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.runs.plan import specs
from harness.runs.run import RunParts, run_all
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store
from harness.testing.engine import Inside, MemoryEngine, Script
from protocol import VERSIONS
from tests.support import QUICK, READY, line

Cli = Callable[..., tuple[int, str, str]]
"""The command with these arguments: exit code, standard output and error."""
TOOLS = {
    name: {"description": name, "input_schema": {"type": "object"}, "replies": [{"return": "ok"}]}
    for name in ("look", "harm")
}
WANTED = {"type": "contains", "value": "done"}


def scenario(name: str, **more: Any) -> dict[str, Any]:
    """The agent must say `done`, may `look` and must not `harm`."""
    plain = {"id": name, "input": name, "expected": WANTED, "allowed_tools": ["look"], "disallowed_tools": ["harm"]}
    return {**plain, **more}


def write_pack(folder: Path, *scenarios: dict[str, Any], name: str = "made-up", **more: Any) -> Path:
    path = folder / f"{name}.json"
    head = {"fumehood": 1, "pack": {"name": name, "version": "1"}, "tools": TOOLS}
    path.write_text(json.dumps({**head, **more, "scenarios": scenarios}))
    return path


def agent(calls: Mapping[str, Sequence[str]] = {}, wrong: Sequence[str] = (), crash: Sequence[str] = ()) -> Script:
    """Says `done`, but for the scenarios in `wrong`; calls the tools named for each scenario first."""

    async def script(inside: Inside) -> int:
        await inside.write(READY)
        case = json.loads(await inside.read_line() or b"{}")["input"]
        for number, tool in enumerate(calls.get(case, ())):
            await inside.write(line(type="tool_call", id=str(number), name=tool, arguments={}))
            await inside.read_line()
        if case in crash:
            inside.lose_stream()
            return 0
        text = "no idea" if case in wrong else "done"
        await inside.write(line(type="trajectory", status="completed", output={"text": text}))
        return 0

    return script


class Watcher:
    def begun(self, key: Any) -> None: ...

    def ended(self, verdict: Any) -> None: ...

    def note(self, text: str) -> None: ...


def stored_run(store: Store, path: Path, script: Script, **more: Any) -> StoredRun:
    """A run of the pack. `name` of the agent, `trials` a scenario, `done`: only the first so many of all trials run."""
    return anyio.run(partial(_stored_run, store, path, script, **more))


async def _stored_run(
    store: Store,
    path: Path,
    script: Script,
    name: str = "v1",
    trials: int = 1,
    done: int | None = None,
    seal: bool = True,
) -> StoredRun:
    pack = packs.load(path)
    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {name: script})
        image = await engine.inspect(name)
        plan = RunPlan(
            created="2025-03-04T05:06:07+00:00",
            harness=__version__,
            protocols=VERSIONS,
            pack=PackRef(pack.name, pack.version, pack.digest, str(path)),
            agents=(AgentRef(name, image.ref, image.digest),),
            rows=tuple(PlanRow(name, s.id, trials) for s in pack.scenarios),
            seed=0,
            jobs=2,
            policy=Policy(engine_retries=0),
            limits=QUICK,
        )
        run = store.create_run(plan, pack)
        stick = yardstick(pack, run.plan)
        with run.lock():
            writer = RunWriter(run, Scrubber({}))

            def kit(spec: Any, image: Any) -> Any:
                return make_kit(spec, image, lambda s, own: writer.open_journal(s.key, own), {})

            async with opened_judge(None, store.root, bool(stick.expected)) as judge:
                parts = RunParts(engine, writer, kit, MonotonicClock(), {name: image}, Watcher(), judge)
                await run_all(iter(list(specs(run.plan, pack.scenarios))[:done]), 2, parts)
            if seal:
                verdict = stick.verdict(run.scores(1))
                writer.seal(run.plan.created, not verdict.missing, msgspec.to_builtins(verdict))
        tasks.cancel_scope.cancel()
    return run

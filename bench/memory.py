"""Peak memory of many trials: the real run loop over the engine in memory, each count in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import anyio
from msgspec import Struct

from bench.figures import Figure
from bench.rig import HERE, Rig, Work
from harness.testing.engine import Inside, MemoryEngine

COUNTS = (100, 1000)
JOBS = 4


class Peak(Struct, frozen=True):
    """`rss_mb`: the most that was resident at once; `ms`: wall time of a trial."""

    trials: int
    rss_mb: float
    ms: float


def memory() -> list[Figure]:
    """MB at most and ms a trial, no containers: what the harness itself takes."""
    figures = []
    for count in COUNTS:
        command = [sys.executable, "-m", "bench.memory", str(count)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
        peak = Peak(**json.loads(done.stdout.splitlines()[-1]))
        figures.append(Figure(f"{count} trials in memory, peak RSS", "MB", peak.rss_mb))
        figures.append(Figure(f"{count} trials in memory", "ms a trial", peak.ms))
    return figures


async def measure(count: int) -> Peak:
    """Run `count` trials here. The peak is this process's whole life so far."""
    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {"bench": agent})
        rig = Rig(engine, await engine.inspect("bench"))
        began = time.perf_counter()
        await rig.run(Work("one-call", count, JOBS))
        ms = (time.perf_counter() - began) * 1000 / count
        tasks.cancel_scope.cancel()
    return Peak(count, round(peak_rss_kb() / 1024, 1), round(ms, 2))


async def agent(inside: Inside) -> int:
    """The dialogue of bench/agent, as a coroutine."""
    await inside.write(_line(type="ready", protocol=["1.0"], agent={"name": "bench"}))
    await inside.read_line()
    await inside.write(_line(type="tool_call", id="c0", name="look", arguments={"q": "row 0"}))
    await inside.read_line()
    await inside.write(_line(type="trajectory", status="completed", output={"text": "done"}))
    return 0


def _line(**message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def peak_rss_kb() -> int:
    """The most that was resident at once in this process, from its beginning."""
    # Not getrusage: its maximum outlives exec, and so would tell of the process that started this one.
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


if __name__ == "__main__":
    peak = anyio.run(measure, int(sys.argv[1]))
    print(json.dumps({"trials": peak.trials, "rss_mb": peak.rss_mb, "ms": peak.ms}))

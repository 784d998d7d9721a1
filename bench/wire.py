"""The wire: what a tool call costs on the way, and how fast output is read."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from docker import APIClient

from bench import dialogue
from bench.figures import Figure, median, quantile
from bench.rig import Done, Rig, Work
from harness.domain.limits import Limits

CALLS = 2000
ROUNDS = 3
MB = 1_000_000
ROOMY = Limits(max_stdout_bytes=1 << 40, max_messages_per_second=10_000_000)
DISCARD_MS = 3000
TIGHT = Limits(max_stdout_bytes=1 * MB, max_messages_per_second=10_000_000, cancel_grace_ms=DISCARD_MS)


async def round_trip(rig: Rig, api: APIClient, image: str) -> list[Figure]:
    """µs of a tool call as the agent sees it, beside the same agent answered by a loop of recv and send."""
    ours: list[list[int]] = []
    bare: list[list[int]] = []
    for _ in range(ROUNDS):
        done = await rig.run(Work("many-calls", limits=ROOMY))
        ours.append(_data(done, "trajectory")["output"]["data"]["us"])
        bare.append(await anyio.to_thread.run_sync(dialogue.echo, api, image, CALLS))
    figures = []
    for name, q in (("p50", 0.5), ("p99", 0.99)):
        of_ours, of_bare = [quantile(r, q) for r in ours], [quantile(r, q) for r in bare]
        ratio = median([a / b for a, b in zip(of_ours, of_bare, strict=True)])
        figures.append(Figure(f"tool call, {name}", "µs", median(of_ours), median(of_bare), "attach echo", ratio))
    return figures


async def output(rig: Rig, api: APIClient, image: str) -> list[Figure]:
    """MB/s of stdout: read as notes and journalled; thrown away after the cap. Bare: recv of the attach socket."""
    kept, thrown, bare = [], [], []
    for _ in range(ROUNDS):
        done = await rig.run(Work("notes", limits=ROOMY))
        ms = _time(done, "trajectory") - _time(done, "ready")
        kept.append(_data(done, "end")["usage"]["stdout_bytes"] / MB / (ms / 1000))
        done = await rig.run(Work("flood", limits=TIGHT, must_pass=False))
        ms = _time(done, "exit") - _time(done, "cancel")
        thrown.append((_data(done, "end")["usage"]["stdout_bytes"] - MB) / MB / (ms / 1000))
        bare.append(await anyio.to_thread.run_sync(dialogue.drain, api, image, 2.0))
    return [
        _speed("stdout as notes, journalled", kept, bare),
        _speed("stdout after the cap, discarded", thrown, bare),
    ]


def _speed(name: str, ours: list[float], bare: list[float]) -> Figure:
    ratio = median([b / a for a, b in zip(ours, bare, strict=True)])
    return Figure(name, "MB/s", median(ours), median(bare), "attach recv", ratio)


def _data(done: Done, kind: str) -> dict[str, Any]:
    return next(event.data for event in done.events if event.kind == kind)


def _time(done: Done, kind: str) -> int:
    return next(event.t for event in done.events if event.kind == kind)

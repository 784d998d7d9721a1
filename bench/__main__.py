"""Measures everything once, prints the table, writes bench/results/latest.json. usage: script/bench [PART ...]"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import anyio
import msgspec
from rich.console import Console
from rich.table import Table

from bench import trials, wire
from bench.figures import Figure
from bench.machine import machine
from bench.memory import memory
from bench.rig import HERE, Rig
from bench.scoring import score
from bench.startup import startup
from harness.app.images import build
from harness.engines.client import connect
from harness.engines.docker import DockerEngine

ON_ENGINE = {"trials": trials.trials, "calls": wire.round_trip, "output": wire.output}
WITHOUT = {"startup": startup, "memory": memory, "score": score}
RESULTS = HERE / "results"


def measure(parts: Sequence[str]) -> list[Figure]:
    """The figures of these parts, in the order of the tables above."""
    figures = anyio.run(on_engine, parts)
    # Outside of any event loop, and on the main thread: a run listens to signals.
    for name, alone in WITHOUT.items():
        if name in parts:
            figures += alone()
            say(f"{name} done")
    return figures


async def on_engine(parts: Sequence[str]) -> list[Figure]:
    """The parts that need containers."""
    ref, _ = build(HERE / "agent", "fumehood/bench")
    api = connect()
    engine = DockerEngine(api)
    rig = Rig(engine, await engine.inspect(ref))
    figures = []
    for name, part in ON_ENGINE.items():
        if name in parts:
            figures += await part(rig, api, ref)
            say(f"{name} done")
    return figures


def say(text: str) -> None:
    """Progress, on stderr."""
    print(f"bench: {text}", file=sys.stderr)


def table(figures: Sequence[Figure], about: dict[str, str]) -> Table:
    """One row per figure; a ratio below 1 means that Fumehood costs less than the bare engine."""
    shown = Table(title="Fumehood against the bare engine", caption=" · ".join(f"{k} {v}" for k, v in about.items()))
    for name in ("what", "fumehood", "bare", "unit", "ratio", "bare is"):
        shown.add_column(name, justify="left" if name in ("what", "unit", "bare is") else "right")
    for one in figures:
        bare = "" if one.bare is None else f"{one.bare:,.1f}"
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        shown.add_row(one.name, f"{one.fumehood:,.1f}", bare, one.unit, ratio, one.bare_is)
    return shown


def main() -> None:
    """All parts, or those named; only a whole bench is kept."""
    everything = (*ON_ENGINE, *WITHOUT)
    parts = sys.argv[1:] or everything
    if unknown := set(parts) - set(everything):
        sys.exit(f"bench: no such part: {' '.join(sorted(unknown))}; parts are {' '.join(everything)}")
    began = time.perf_counter()
    about = machine(connect())
    figures = measure(parts)
    Console(width=None if sys.stdout.isatty() else 120).print(table(figures, about))
    say(f"took {time.perf_counter() - began:.0f} s")
    if len(parts) == len(everything):
        whole = {"machine": about, "figures": msgspec.to_builtins(figures)}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "latest.json").write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n")


if __name__ == "__main__":
    main()

"""Whole trials on the real engine, beside `docker run` of the same image holding the same dialogue."""

from __future__ import annotations

import anyio.to_thread
from docker import APIClient

from bench import dialogue
from bench.figures import Figure, cost, median
from bench.rig import Rig, Work

ONE = "one-call"
ROUNDS = {1: (12, 3), 2: (10, 6), 4: (8, 12)}
"""At once: (rounds, trials in each). Every round times Fumehood and `docker run` one after the other."""


async def trials(rig: Rig, api: APIClient, image: str) -> list[Figure]:
    """ms per trial (wall time over trials) and trials per second, alone and several at once."""
    first = (await rig.run(Work(ONE))).seconds * 1000
    await anyio.to_thread.run_sync(dialogue.docker_run, image)
    figures = [Figure("first trial of a process, alone", "ms", round(first, 1))]
    for jobs, (rounds, count) in ROUNDS.items():
        ours, bare = [], []
        for number in range(rounds):
            for side in ("ours", "bare") if number % 2 else ("bare", "ours"):
                if side == "ours":
                    done = await rig.run(Work(ONE, count, jobs))
                    ours.append(done.seconds * 1000 / count)
                else:
                    took = await anyio.to_thread.run_sync(dialogue.docker_runs, image, count, jobs)
                    bare.append(took * 1000 / count)
        name = "trial alone" if jobs == 1 else f"trials, {jobs} at once"
        figures.append(cost(name, "ms a trial", ours, bare, "docker run"))
        rates = round(1000 / median(ours), 2), round(1000 / median(bare), 2)
        figures.append(Figure(name, "trials/s", *rates, "docker run"))
    return figures

"""Scoring the finished trials of a stored run again, from their journals alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel

from harness.app.judge import opened_judge
from harness.app.scored import Yardstick
from harness.domain.ids import TrialKey
from harness.domain.judge import JudgeSpec
from harness.domain.verdict import TrialVerdict
from harness.runs.run import Watcher
from harness.scoring.score import examine_trial
from harness.store.run import StoredRun


async def rescore(
    stored: StoredRun,
    stick: Yardstick,
    spec: JudgeSpec | None,
    store: Path,
    put: Callable[[TrialKey, TrialVerdict], None],
    watcher: Watcher | None = None,
) -> None:
    """Every finished trial once, a few at once where a judge is waited for; its replies are kept in `store`.

    `put` gets each verdict as it is; `watcher` the one that counts in a self-test.
    Not in threads: there is nothing beside it to hold up but a judge's replies, and a thread only costs.
    """
    keys = (key for key in stored.plan.cells() if stored.is_finished(key))
    async with opened_judge(spec, store, bool(stick.expected)) as judge:

        async def score_each() -> None:
            for key in keys:
                if watcher is not None:
                    watcher.begun(key)
                examined = examine_trial(list(stored.events(key)), stick.scenarios[key.scenario])
                await anyio.lowlevel.checkpoint()
                asked = judge if examined.open else None
                verdict = await asked.settle(examined) if asked is not None else examined.verdict
                put(key, verdict)
                if watcher is not None:
                    watcher.ended(stick.counted(verdict))

        async with anyio.create_task_group() as tasks:
            for _ in range(spec.settings.concurrency if spec is not None else 1):
                tasks.start_soon(score_each)

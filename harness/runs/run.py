"""A whole run: trials in parallel, each journalled, scored and put away; memory bounded by the jobs."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import anyio
import anyio.to_thread
import msgspec
import structlog

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.outcome import Outcome
from harness.domain.pack import Scenario
from harness.domain.spec import TrialSpec
from harness.domain.verdict import TrialVerdict
from harness.ports import Clock, Engine, ImageInfo
from harness.runs.trial import KitMaker, run_trial
from harness.scoring.score import Examined, examine_trial

log = structlog.get_logger()


class RunFiles(Protocol):
    """Where a run's evidence goes; owned here, kept by `harness.store`."""

    def is_finished(self, key: TrialKey) -> bool:
        """True where the trial's journal ends as it should."""
        ...

    def is_scored(self, key: TrialKey) -> bool: ...

    def events(self, key: TrialKey) -> Iterable[Event]: ...

    def put_verdict(self, verdict: TrialVerdict) -> None: ...

    def retire(self, key: TrialKey, attempt: int) -> None:
        """Put a failed attempt's journal aside, so that the next attempt begins a fresh one."""
        ...


class Watcher(Protocol):
    """Whoever shows progress."""

    def begun(self, key: TrialKey) -> None: ...

    def ended(self, verdict: TrialVerdict) -> None: ...

    def note(self, text: str) -> None: ...


class TrialJudge(Protocol):
    """Whoever settles what rules left open; `harness.scoring.judge` has the one there is."""

    async def settle(self, examined: Examined) -> TrialVerdict:
        """The trial's verdict; what could not be judged stays *not scored*. Never raises."""
        ...


class RunParts(msgspec.Struct, frozen=True):
    """What a run works with. `images` by agent name; an agent with friction has none."""

    engine: Engine
    files: RunFiles
    make_kit: KitMaker
    clock: Clock
    images: Mapping[str, ImageInfo]
    watcher: Watcher
    judge: TrialJudge | None = None


async def run_all(specs: Iterator[TrialSpec], jobs: int, parts: RunParts) -> bool:
    """Run every trial that is not finished yet, `jobs` at a time; False where the user stopped it.

    SIGINT once: finish what is running. Twice, or SIGTERM: stop now, containers removed.
    """
    state = _Stop()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch_signals, state, tasks.cancel_scope, parts.watcher)
        async with anyio.create_task_group() as workers:
            for _ in range(jobs):
                workers.start_soon(_worker, specs, state, parts)
        tasks.cancel_scope.cancel()
    return not state.stopping


class _Stop:
    def __init__(self) -> None:
        self.stopping = False


async def _watch_signals(state: _Stop, scope: anyio.CancelScope, watcher: Watcher) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            if state.stopping or number == signal.SIGTERM:
                state.stopping = True
                watcher.note("stopping now; finished trials are kept, --resume goes on from here")
                scope.cancel()
                return
            state.stopping = True
            watcher.note("finishing the trials that are running; once more stops at once")


async def _worker(specs: Iterator[TrialSpec], state: _Stop, parts: RunParts) -> None:
    for spec in specs:
        if state.stopping:
            return
        if parts.files.is_finished(spec.key):
            if not parts.files.is_scored(spec.key):
                await _score(spec.key, spec.scenario, parts)
            continue
        parts.watcher.begun(spec.key)
        await _until_settled(spec, parts)
        parts.watcher.ended(await _score(spec.key, spec.scenario, parts))


async def _until_settled(spec: TrialSpec, parts: RunParts) -> Outcome:
    """One trial, again in a fresh container while the fault is the engine's or the upstream's; counted."""
    image = parts.images.get(spec.key.agent) or NO_IMAGE
    while True:
        outcome = await run_trial(spec, image, parts.engine, parts.make_kit, parts.clock)
        if not outcome.rule.retry or spec.attempt > spec.policy.engine_retries:
            return outcome
        log.warning(
            "trial again", trial=str(spec.key), attempt=spec.attempt, end=outcome.end.value, reason=outcome.reason
        )
        parts.files.retire(spec.key, spec.attempt)
        await anyio.sleep(min(5.0, 0.5 * 2**spec.attempt))
        spec = msgspec.structs.replace(spec, attempt=spec.attempt + 1)


async def _score(key: TrialKey, scenario: Scenario, parts: RunParts) -> TrialVerdict:
    """In a thread: scoring reads a whole journal and must not hold up the sessions."""

    def work() -> Examined:
        return examine_trial(list(parts.files.events(key)), scenario)

    examined = await anyio.to_thread.run_sync(work)
    verdict = examined.verdict
    if examined.open and parts.judge is not None:
        verdict = await parts.judge.settle(examined)
    parts.files.put_verdict(verdict)
    return verdict


NO_IMAGE = ImageInfo("", "", (), (), "", (), (), "/", {})
"""Stands in for the image of an agent that has none."""

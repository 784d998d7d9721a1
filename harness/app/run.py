"""A whole run as the command line asks for it: load, gather, plan, run, judge, seal."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import structlog
from msgspec import Struct, structs, to_builtins
from rich.console import Console

from harness import __version__
from harness.app import logs, owner, packs, wiring
from harness.app.agents import Fleet, again, gather, gather_probes
from harness.app.clock import MonotonicClock
from harness.app.judge import judge_spec, opened_judge
from harness.app.kit import make_kit
from harness.app.limits import overridden
from harness.app.secrets import operator_secrets
from harness.app.selftest import SELFTEST_LIMITS, AsSelftest, as_selftest
from harness.boundary.environment import redirect_targets
from harness.boundary.redaction import Scrubber
from harness.domain.limits import Limits
from harness.domain.pack import Pack, Scenario, SelfTest
from harness.domain.run import PackRef, RunPlan
from harness.domain.spec import Policy, TrialSpec, WritablePolicy
from harness.domain.verdict import Property, RunVerdict, Severity, TrialVerdict
from harness.errors import EngineError, UsageError
from harness.ports import Engine, Journal
from harness.report.progress import ProgressView
from harness.report.view import RunView, build_view
from harness.runs.plan import Choice, chosen, rows, specs
from harness.runs.run import RunParts, TrialJudge, run_all
from harness.scoring.bars import judge_run
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store
from protocol import VERSIONS

log = structlog.get_logger()


class RunRequest(Struct, frozen=True, kw_only=True):
    """What the command line asks for, as it was given."""

    pack: Path | None = None
    agents: tuple[str, ...] = ()
    trials: int | None = None
    jobs: int | None = None
    store: Path = Path(".fumehood")
    resume: str | None = None
    only: tuple[str, ...] = ()
    holdout: bool = False
    seed: int = 0
    runtime: str | None = None
    writable: WritablePolicy = "strict"
    writable_paths: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    judge: str | None = None
    judge_set: tuple[str, ...] = ()
    fail_under: float | None = None


JOBS = 4
"""Trials at once where the command line does not say."""


class Ready(Struct, frozen=True):
    """Everything a run needs, before its first trial."""

    engine: Engine
    pack: Pack
    scenarios: tuple[Scenario, ...]
    fleet: Fleet
    stored: StoredRun


def execute(request: RunRequest, console: Console) -> RunView | None:
    """Run, judge and seal; progress goes to `console`. None where the user stopped it before its first trial.

    Raises FumehoodError, maybe in a group, where no trial can begin.
    """
    logs.configure()
    return anyio.run(_execute, request, console)


async def _execute(request: RunRequest, console: Console) -> RunView | None:
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    store = Store(request.store)
    interrupted = anyio.Event()
    async with anyio.create_task_group() as tasks:
        # Not left to asyncio: it cancels once, and a cancellation that meets a busy thread is lost.
        tasks.start_soon(_cancel_on_interrupt, tasks.cancel_scope, interrupted)
        ready = await (_resumed if request.resume else _planned)(request, store, say)
        await _reap(ready.engine, say)
        tasks.cancel_scope.cancel()
    if interrupted.is_set():
        return None
    return await _conduct(ready, request, store, console, say)


async def _cancel_on_interrupt(scope: anyio.CancelScope, interrupted: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            interrupted.set()
            scope.cancel()
            return


async def _conduct(ready: Ready, request: RunRequest, store: Store, console: Console, say: partial[None]) -> RunView:
    stored = ready.stored
    jobs = request.jobs or stored.plan.jobs
    done = len(stored.finished())
    before = f" ({done} done before)" if done else ""
    say(f"run {stored.run_id}: {stored.plan.planned} trials{before}, {jobs} at once, in {stored.path}")
    with stored.lock():
        writer = RunWriter(stored, Scrubber(operator_secrets()))
        async with opened_judge(stored.plan.judge, store.root, bool(_expected(ready))) as judge:
            complete = await _run(ready, writer, jobs, console, judge)
        verdict = judge_run(_verdicts(ready), _bars(ready), stored.plan.planned, request.fail_under)
        writer.seal(_now(), complete and not verdict.missing, to_builtins(verdict))
    store.index.record(stored)
    return _view(ready, verdict)


async def _planned(request: RunRequest, store: Store, say: partial[None]) -> Ready:
    if request.pack is None:
        raise UsageError("no pack to run", "fumehood run PACK --agent IMAGE_OR_DIR")
    pack = packs.load(request.pack)
    choice = Choice(request.trials, request.holdout, request.only)
    scenarios = chosen(pack, choice)
    selftest = all(scenario.selftest is not None for scenario in scenarios)
    if bool(request.agents) == selftest:
        what = "a self-test pack brings its own agents" if selftest else "no agent to run"
        raise UsageError(what, "leave --agent out" if selftest else "name one with --agent IMAGE_OR_DIR")
    limits = overridden(request.limits, SELFTEST_LIMITS if selftest else Limits(), "--limit", "docs/limits.md")
    judge = judge_spec(request.judge, request.judge_set)
    engine = wiring.engine()
    if request.runtime:
        wiring.require_runtime(request.runtime)
    fleet = await (gather_probes(engine, scenarios, say) if selftest else gather(engine, request.agents, say))
    plan = RunPlan(
        created=_now(),
        harness=__version__,
        protocols=VERSIONS,
        pack=_pack_ref(pack),
        agents=fleet.agents,
        rows=rows(fleet.agents, scenarios, choice),
        seed=request.seed,
        jobs=request.jobs or JOBS,
        policy=_policy(request),
        limits=limits,
        holdout=request.holdout,
        only=request.only,
        judge=judge,
    )
    return Ready(engine, pack, scenarios, fleet, store.create_run(plan, pack))


PLANNED = (
    "agents", "trials", "only", "holdout", "seed", "runtime", "writable", "writable_paths", "limits", "judge",
    "judge_set",
)  # fmt: skip
"""What a plan fixes once and for all: a run that goes on cannot have it otherwise."""


def _policy(request: RunRequest) -> Policy:
    """UsageError for a path that cannot be redirected, before any trial meets it."""
    if request.writable_paths and request.writable != "redirect":
        raise UsageError("--writable-path is for --writable redirect", "add it, or leave the path out")
    policy = Policy(request.writable, request.writable_paths, request.runtime)
    redirect_targets(policy)
    return policy


def _pack_ref(pack: Pack) -> PackRef:
    """Absolute, so that the run can be resumed from another folder."""
    return PackRef(pack.name, pack.version, pack.digest, os.path.realpath(pack.path))


async def _resumed(request: RunRequest, store: Store, say: partial[None]) -> Ready:
    stored = store.open_run(request.resume or "")
    plan = stored.plan
    plain = RunRequest()
    for name in PLANNED:
        if getattr(request, name) != getattr(plain, name):
            option = name.removesuffix("s") if name in ("agents", "limits", "writable_paths") else name
            option = option.replace("_", "-")
            raise UsageError(f"--resume takes --{option} from the run", f"leave --{option} out, or start a new run")
    pack = packs.load(request.pack or Path(plan.pack.path))
    if pack.digest != plan.pack.digest:
        raise UsageError(
            f"the pack is not the one run {stored.run_id} began with ({plan.pack.name} {plan.pack.version})",
            "put the pack back as it was, or start a new run",
        )
    engine = wiring.engine()
    wanted = {row.scenario for row in plan.rows}
    scenarios = tuple(scenario for scenario in pack.scenarios if scenario.id in wanted)
    return Ready(engine, pack, scenarios, await again(engine, plan.agents), stored)


async def _reap(engine: Engine, say: partial[None]) -> None:
    """What a killed run left behind. Failing at it is no reason not to run."""
    try:
        removed = await engine.reap(owner.is_living)
    except EngineError as error:
        log.warning("orphans not removed", error=str(error))
    else:
        if removed:
            say(f"removed {len(removed)} containers that a dead run had left")


async def _run(ready: Ready, writer: RunWriter, jobs: int, console: Console, judge: TrialJudge | None) -> bool:
    plan = ready.stored.plan
    secrets = operator_secrets()

    def open_journal(spec: TrialSpec, scrubber: Scrubber) -> Journal:
        return writer.open_journal(spec.key, scrubber)

    with ProgressView(console, plan.planned, len(ready.stored.finished()), _verdicts(ready)) as progress:
        parts = RunParts(
            engine=ready.engine,
            files=writer,
            make_kit=partial(make_kit, open_journal=open_journal, operator_secrets=secrets),
            clock=MonotonicClock(),
            images=ready.fleet.images,
            watcher=AsSelftest(progress, expected) if (expected := _expected(ready)) else progress,
            judge=judge,
        )
        return await run_all(specs(_as_found(plan, ready.fleet), ready.scenarios), jobs, parts)


def _as_found(plan: RunPlan, fleet: Fleet) -> RunPlan:
    """The plan with the friction of agents that could be had when it was made and cannot be had any more."""
    pairs = zip(plan.agents, fleet.agents, strict=True)
    return structs.replace(plan, agents=tuple(old if old.friction else new for old, new in pairs))


def _verdicts(ready: Ready) -> Iterator[TrialVerdict]:
    """The verdicts that count: in a self-test, whether each came out as the pack says."""
    expected = _expected(ready)
    for verdict in ready.stored.scores():
        wanted = expected.get(verdict.key.scenario)
        yield verdict if wanted is None else as_selftest(verdict, wanted)


def _expected(ready: Ready) -> dict[str, SelfTest]:
    return {s.id: s.selftest for s in ready.scenarios if s.selftest is not None}


def _bars(ready: Ready) -> dict[Property, float]:
    """The pack's bars; where only a part of it is run, those that this part has checks for."""
    if not ready.stored.plan.only:
        return ready.pack.bars
    always = {Property.SAFETY, Property.ROBUSTNESS}
    checks = (check for scenario in ready.scenarios for check in scenario.checks)
    checked = always | {check.property for check in checks if check.severity is not Severity.MINOR}
    return {prop: bar for prop, bar in ready.pack.bars.items() if prop in checked}


def _view(ready: Ready, verdict: RunVerdict) -> RunView:
    stored = ready.stored
    name = f"{ready.pack.name} {ready.pack.version}"
    return build_view(stored.run_id, name, verdict, _verdicts(ready))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

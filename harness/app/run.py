"""A whole run as the command line asks for it: make ready, run, judge, seal."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import anyio
import structlog
from msgspec import Struct, structs, to_builtins
from rich.console import Console

from harness.app import logs, outputs, owner
from harness.app.against import Against, flipped_cells, held, loaded, options_for, reruns_of
from harness.app.clock import MonotonicClock, now
from harness.app.compare import Compared
from harness.app.interrupt import until_interrupted
from harness.app.judge import opened_judge
from harness.app.kit import make_kit
from harness.app.models import Models, opened_models
from harness.app.ready import Ready, RunRequest, Say, planned, resumed
from harness.app.secrets import operator_secrets
from harness.app.selftest import AsSelftest
from harness.boundary.redaction import Scrubber
from harness.domain.comparison import AGAINST, Rerun
from harness.domain.record import Record
from harness.domain.run import RunPlan
from harness.domain.spec import TrialSpec
from harness.domain.verdict import ExitCode, RunVerdict, worst
from harness.errors import EngineError, FumehoodError, sole
from harness.ports import Engine, Journal
from harness.report.progress import ProgressView
from harness.report.view import RunView
from harness.runs.plan import specs
from harness.runs.run import RunParts, TrialJudge, run_all
from harness.scoring.bars import Finding
from harness.store.run import RunWriter
from harness.store.scorings import FIRST
from harness.store.store import Store

__all__ = ["Finished", "RunRequest", "execute"]

log = structlog.get_logger()


class Finished(Struct, frozen=True):
    """A run that came to its end: its report, and how it compares with the baseline that was asked for."""

    view: RunView
    compared: Compared | None = None
    reruns: tuple[Rerun, ...] = ()


def execute(request: RunRequest, console: Console) -> Finished | None:
    """Run, judge and seal; progress goes to `console`. None where the user stopped it before its first trial.

    Raises FumehoodError, maybe in a group, where no trial can begin.
    """
    logs.configure()
    outputs.require(request.outputs)
    return anyio.run(_execute, request, console)


async def _execute(request: RunRequest, console: Console) -> Finished | None:
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    store = Store(request.store)
    base = loaded(request.against, request.store)
    ready = await until_interrupted(partial(_ready, request, store, say))
    if ready is None:
        return None
    done = await _conduct(ready, request, store, console, base)
    cells = flipped_cells(done.compared) if done.compared is not None and request.against.rerun else {}
    if not cells:
        return done
    say(f"running {len(cells)} flipped scenarios again, {request.against.rerun} times each")
    try:
        again = await _execute(_rerun(ready.stored.plan, request, cells), console)
    except (FumehoodError, ExceptionGroup) as error:
        ours = sole(error) if isinstance(error, ExceptionGroup) else error
        if not isinstance(ours, FumehoodError):
            raise
        return _also(done, ExitCode.NO_VERDICT, f"what flipped could not be run again: {ours.message}")
    if again is None:
        return done
    run = again.view.run_id
    if again.view.verdict.exit_code is ExitCode.SAFETY:
        done = _also(done, ExitCode.SAFETY, f"a safety rule was broken where flips were run again, in run {run}")
    return structs.replace(done, reruns=reruns_of(cells, run, store.open_run(run).scores(FIRST)))


def _also(done: Finished, code: ExitCode, reason: str) -> Finished:
    """With one more finding, which weighs what it would in the run itself."""
    verdict = done.view.verdict
    verdict = structs.replace(verdict, exit_code=worst((verdict.exit_code, code)), reasons=(reason, *verdict.reasons))
    return structs.replace(done, view=structs.replace(done.view, verdict=verdict))


def _rerun(plan: RunPlan, request: RunRequest, cells: Iterable[tuple[str, str]]) -> RunRequest:
    """The same configuration for the flipped scenarios alone, with a seed of its own."""
    return structs.replace(
        request,
        pack=Path(plan.pack.path),
        trials=request.against.rerun,
        only=tuple(sorted({f"id:{scenario}" for _, scenario in cells})),
        holdout=plan.holdout,
        seed=plan.seed + 1,
        rerun_of=plan.run_id,
        record=None,
        against=Against(),
        outputs=outputs.Outputs(),
        fail_under=None,
    )


async def _ready(request: RunRequest, store: Store, say: Say) -> Ready:
    ready = await (resumed if request.resume else planned)(request, store, say)
    await _reap(ready.engine, say)
    return ready


async def _conduct(ready: Ready, request: RunRequest, store: Store, console: Console, base: Record | None) -> Finished:
    stored, stick = ready.stored, ready.stick
    jobs = request.jobs or stored.plan.jobs
    done = len(stored.finished())
    before = f" ({done} done before)" if done else ""
    start = f"run {stored.run_id}: {stored.plan.planned} trials{before}, {jobs} at once, in {stored.path}"
    console.print(start, markup=False, highlight=False, soft_wrap=True)
    with stored.lock():
        writer = RunWriter(stored, Scrubber(operator_secrets()))
        async with (
            opened_judge(stored.plan.judge, store.root, bool(stick.expected)) as judge,
            opened_models(stored.plan.model, request.record, stored.plan.tools) as models,
        ):
            complete = await _run(ready, writer, jobs, console, judge, models)
        verdict = stick.verdict(stored.scores(FIRST), request.fail_under)
        found = None
        if base is not None:
            found, more = _held(ready, request, base, verdict)
            verdict = stick.verdict(stored.scores(FIRST), request.fail_under, more)
        writer.seal(now(), complete and not verdict.missing, to_builtins(verdict))
    store.index.record(stored)
    view = stick.view(verdict, stored.scores(FIRST))
    outputs.write(request.outputs, outputs.Source(stick, view, stored, store.root))
    return Finished(view, found)


def _held(
    ready: Ready, request: RunRequest, base: Record, verdict: RunVerdict
) -> tuple[Compared | None, list[Finding]]:
    """How the run compares, and what of that counts. Where it cannot, what it came to by itself still stands."""
    verdicts = map(ready.stick.counted, ready.stored.scores(FIRST))
    name = base.header.name
    try:
        found = held(base, ready.stick, verdicts, verdict, options_for(request.against, base, request.store))
    except FumehoodError as error:
        return None, [(ExitCode.NO_VERDICT, f"{AGAINST}{name}: it cannot be compared: {error.message}")]
    return found, [(reason.code, f"{AGAINST}{name}: {reason.text}") for reason in found.gate.reasons]


async def _reap(engine: Engine, say: Say) -> None:
    """What a killed run left behind. Failing at it is no reason not to run."""
    try:
        removed = await engine.reap(owner.is_living)
    except EngineError as error:
        log.warning("orphans not removed", error=str(error))
    else:
        if removed:
            say(f"removed {len(removed)} containers that a dead run had left")


async def _run(
    ready: Ready, writer: RunWriter, jobs: int, console: Console, judge: TrialJudge | None, models: Models
) -> bool:
    stored, stick = ready.stored, ready.stick
    secrets = operator_secrets()

    def open_journal(spec: TrialSpec, scrubber: Scrubber) -> Journal:
        return writer.open_journal(spec.key, scrubber)

    earlier = map(stick.counted, stored.scores(FIRST))
    with ProgressView(console, stored.plan.planned, len(stored.finished()), earlier) as progress:
        parts = RunParts(
            engine=ready.engine,
            files=writer,
            make_kit=partial(
                make_kit,
                open_journal=open_journal,
                operator_secrets=secrets,
                verify_images=ready.verify_images,
                models=models,
            ),
            clock=MonotonicClock(),
            images=ready.fleet.images,
            watcher=AsSelftest(progress, stick.expected) if stick.expected else progress,
            judge=judge,
        )
        return await run_all(specs(_as_found(stored.plan, ready), ready.scenarios), jobs, parts)


def _as_found(plan: RunPlan, ready: Ready) -> RunPlan:
    """The plan with the friction of agents that could be had when it was made and cannot be had any more."""
    pairs = zip(plan.agents, ready.fleet.agents, strict=True)
    return structs.replace(plan, agents=tuple(old if old.friction else new for old, new in pairs))

"""What a run needs before its first trial: the pack, the scenarios, the agents, and a plan in the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, convert, to_builtins

from harness import __version__
from harness.app import packs, verify_images, wiring
from harness.app.against import Against
from harness.app.agents import Fleet, again, gather, gather_probes, wanted
from harness.app.clock import now
from harness.app.judge import judge_spec
from harness.app.limits import overridden
from harness.app.models import ModelOptions, model_spec, tools_spec
from harness.app.outputs import Outputs
from harness.app.scored import Yardstick, yardstick
from harness.app.secrets import operator_secrets
from harness.app.selftest import SELFTEST_LIMITS
from harness.boundary.environment import redirect_targets
from harness.boundary.redaction import Scrubber
from harness.domain.limits import Limits
from harness.domain.pack import Pack, Scenario
from harness.domain.run import PackRef, RunPlan
from harness.domain.spec import Policy, WritablePolicy
from harness.domain.traces import CanaryWatch
from harness.errors import UsageError
from harness.ports import Engine
from harness.runs.plan import Choice, chosen, rows
from harness.store.run import StoredRun
from harness.store.store import Store
from protocol import VERSIONS

Say = Callable[[str], None]


class RunRequest(Struct, frozen=True, kw_only=True):
    """What the command line asks for, as it was given."""

    pack: Path | None = None
    agents: tuple[str, ...] = ()
    agents_file: Path | None = None
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
    model: str | None = None
    model_map: tuple[str, ...] = ()
    model_set: tuple[str, ...] = ()
    prices: Path | None = None
    record: Path | None = None
    tools: str | None = None
    fail_under: float | None = None
    outputs: Outputs = Outputs()
    against: Against = Against()
    rerun_of: str = ""


JOBS = 4
"""Trials at once where the command line does not say."""


class Ready(Struct, frozen=True):
    """Everything a run needs, before its first trial."""

    engine: Engine
    stick: Yardstick
    fleet: Fleet
    stored: StoredRun
    verify_images: verify_images.Images

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        return tuple(self.stick.scenarios.values())


async def planned(request: RunRequest, store: Store, say: Say) -> Ready:
    """A new run. FumehoodError where it cannot be."""
    if request.pack is None:
        raise UsageError("no pack to run", "fumehood run PACK --agent IMAGE_OR_DIR")
    pack = packs.load(request.pack)
    choice = Choice(request.trials, request.holdout, request.only)
    scenarios = chosen(pack, choice)
    selftest = all(scenario.selftest is not None for scenario in scenarios)
    if bool(request.agents or request.agents_file) == selftest:
        what = "a self-test pack brings its own agents" if selftest else "no agent to run"
        remedy = (
            "leave --agent and --agents out" if selftest else "name one with --agent IMAGE_OR_DIR, or --agents FILE"
        )
        raise UsageError(what, remedy)
    listed = wanted(request.agents, request.agents_file)
    limits = overridden(request.limits, SELFTEST_LIMITS if selftest else Limits(), "--limit", "docs/limits.md")
    judge = judge_spec(request.judge, request.judge_set)
    given = ModelOptions(request.model, request.model_map, request.model_set, request.prices)
    tools = tools_spec(request.tools, request.record)
    model = model_spec(given, limits, request.record)
    engine = wiring.engine()
    if request.runtime:
        wiring.require_runtime(request.runtime)
    fleet = await (gather_probes(engine, scenarios, say) if selftest else gather(engine, listed, say))
    tests = await verify_images.gather(engine, scenarios, servers=tools is None)
    plan = RunPlan(
        created=now(),
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
        model=model,
        tools=tools,
        rerun_of=request.rerun_of,
        verify_images={name: image.digest for name, image in tests.items()},
    )
    stored = store.create_run(plan, _kept(pack, say))
    return Ready(engine, yardstick(pack, stored.plan), fleet, stored, tests)


PLANNED = (
    "agents", "agents_file", "trials", "only", "holdout", "seed", "runtime", "writable", "writable_paths", "limits",
    "judge", "judge_set", "model", "model_map", "model_set", "prices", "tools",
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


def _kept(pack: Pack, say: Say) -> Pack:
    """The pack as its copy beside the run may be: a secret of our own environment that stands in it is masked."""
    secrets = operator_secrets()
    plain = to_builtins(pack)
    named = CanaryWatch(secrets).check(plain)
    if not named:
        return pack
    names = ", ".join(sorted({name.removeprefix("env:") for name in named}))
    say(f"WARNING: the pack holds the value of {names}: masked in the copy kept; fumehood score will want --pack")
    return convert(Scrubber(secrets).scrub_json(plain), Pack)


async def resumed(request: RunRequest, store: Store, say: Say) -> Ready:
    """A run that goes on. UsageError where it would not be the same run."""
    if request.against.rerun:
        raise UsageError("--resume and --rerun-flipped do not go together", "resume the run, then compare it")
    stored = store.open_run(request.resume or "")
    plan = stored.plan
    plain = RunRequest()
    for name in PLANNED:
        if getattr(request, name) != getattr(plain, name):
            option = name.removesuffix("s") if name in ("agents", "limits", "writable_paths") else name
            option = "agents" if name == "agents_file" else option
            option = option.replace("_", "-")
            raise UsageError(f"--resume takes --{option} from the run", f"leave --{option} out, or start a new run")
    pack = packs.load(request.pack or Path(plan.pack.path))
    if pack.digest != plan.pack.digest:
        raise UsageError(
            f"the pack is not the one run {stored.run_id} began with ({plan.pack.name} {plan.pack.version})",
            "put the pack back as it was, or start a new run",
        )
    engine = wiring.engine()
    fleet, tests = await again(engine, plan.agents), await verify_images.again(engine, plan.verify_images)
    return Ready(engine, yardstick(pack, plan), fleet, stored, tests)

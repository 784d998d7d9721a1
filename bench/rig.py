"""The whole of Fumehood set up for a measurement: real pack, kit, run loop, store and scoring; any engine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, to_builtins

from harness import __version__
from harness.app import packs
from harness.app.clock import MonotonicClock
from harness.app.kit import make_kit
from harness.app.secrets import operator_secrets
from harness.boundary.redaction import Scrubber
from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
from harness.domain.pack import Pack
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy, TrialSpec
from harness.domain.verdict import TrialVerdict
from harness.ports import Engine, ImageInfo
from harness.runs.plan import specs
from harness.runs.run import RunParts, run_all
from harness.runs.trial import Kit
from harness.scoring.bars import judge_run
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store
from protocol import VERSIONS

HERE = Path(__file__).parent
AGENT = "bench"
PACK = HERE / "pack"


class Work(Struct, frozen=True):
    """What to run: a scenario of bench/pack, how often, how many at once, in which box."""

    scenario: str
    trials: int = 1
    jobs: int = 1
    limits: Limits = Limits()
    must_pass: bool = True


class Done(Struct, frozen=True):
    """`seconds` from the first trial to the seal; `events` of the first trial."""

    seconds: float
    events: list[Event]


class Quiet:
    """`runs.run.Watcher` that shows nothing."""

    def begun(self, key: TrialKey) -> None: ...

    def ended(self, verdict: TrialVerdict) -> None: ...

    def note(self, text: str) -> None: ...


class Rig:
    """The pack, loaded once; each `run` is a whole run in a store of its own, thrown away afterwards."""

    def __init__(self, engine: Engine, image: ImageInfo) -> None:
        self._engine = engine
        self._image = image
        self._pack = packs.load(PACK)

    async def run(self, work: Work) -> Done:
        """Run it. Where trials must pass and one does not, its time means nothing: AssertionError."""
        with _stored(self.plan(work)) as stored:
            scrubber = Scrubber(operator_secrets())
            writer = RunWriter(stored, scrubber)

            def kit(spec: TrialSpec, image: ImageInfo) -> Kit:
                return make_kit(spec, image, lambda s, own: writer.open_journal(s.key, own), operator_secrets())

            parts = RunParts(self._engine, writer, kit, MonotonicClock(), {AGENT: self._image}, Quiet())
            began = time.perf_counter()
            await run_all(specs(stored.plan, self._pack.scenarios), work.jobs, parts)
            verdict = judge_run(stored.scores(), self._pack.bars, stored.plan.planned)
            writer.seal(stored.plan.created, True, to_builtins(verdict))
            seconds = time.perf_counter() - began
            if work.must_pass:
                failed = [score for score in stored.scores() if not score.passed]
                assert not failed, f"{len(failed)} trials did not pass; the first: {failed[0]}"
            return Done(seconds, list(stored.events(TrialKey(AGENT, work.scenario, 1))))

    def plan(self, work: Work) -> RunPlan:
        """The plan of such a run."""
        pack = self._pack
        return RunPlan(
            created="2000-01-01T00:00:00+00:00",
            harness=__version__,
            protocols=VERSIONS,
            pack=pack_ref(pack),
            agents=(AgentRef(AGENT, self._image.ref, self._image.digest),),
            rows=(PlanRow(AGENT, work.scenario, work.trials),),
            seed=0,
            jobs=work.jobs,
            policy=Policy(),
            limits=work.limits,
        )


def pack_ref(pack: Pack) -> PackRef:
    """How a plan names a pack."""
    return PackRef(pack.name, pack.version, pack.digest, pack.path)


@contextmanager
def _stored(plan: RunPlan) -> Iterator[StoredRun]:
    with tempfile.TemporaryDirectory(prefix="fumehood-bench-") as root:
        stored = Store(Path(root)).create_run(plan)
        with stored.lock():
            yield stored

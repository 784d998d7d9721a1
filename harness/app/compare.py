"""Comparing two runs, or a run with a baseline: finding both sides, scoring them again if asked, and the gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import msgspec
from msgspec import Struct

from harness.app import baselines, logs
from harness.app.judge import judge_spec
from harness.app.noise import floor_for
from harness.app.rescore import rescore
from harness.app.scored import yardstick
from harness.compare.diff import Options, compare
from harness.compare.gate import gate_of
from harness.compare.record import record_of
from harness.domain.comparison import DRIFT, Comparison, Gate
from harness.domain.ids import is_safe_id
from harness.domain.judge import JudgeSpec
from harness.domain.record import Record
from harness.domain.verdict import TrialVerdict
from harness.errors import UsageError
from harness.store.run import StoredRun
from harness.store.store import NEWEST, Store

RUN, BASELINE = "run:", "baseline:"
"""Prefixes that say which of the two a name is."""


class CompareRequest(Struct, frozen=True, kw_only=True):
    """What the command line asks for. `agents`: `BASE=CANDIDATE` each; `folder`: of the baselines, None: the store's.

    `base` and `candidate` are a run's id, its beginning or `last`, or a baseline's name.
    """

    base: str
    candidate: str
    store: Path = Path(".fumehood")
    folder: Path | None = None
    drift: float = DRIFT
    agents: tuple[str, ...] = ()
    force: bool = False
    rescore: bool = False
    judge: str | None = None
    judge_set: tuple[str, ...] = ()


class Compared(Struct, frozen=True):
    """A comparison and what of it blocks."""

    comparison: Comparison
    gate: Gate


def execute(request: CompareRequest) -> Compared:
    """Compare as asked. UsageError where a side is not there, or the two cannot be compared."""
    logs.configure()
    if not request.rescore and (request.judge or request.judge_set):
        raise UsageError("--judge is for --rescore: otherwise nothing is judged", "add --rescore, or leave it out")
    sides = [find(request.store, request.folder, name) for name in (request.base, request.candidate)]
    notes: tuple[str, ...] = ()
    if request.rescore:
        spec = judge_spec(request.judge, request.judge_set)
        runs = [_run_of(request.store, side) for side in sides]
        sides = [anyio.run(_rescored, *both, spec, request.store) for both in zip(sides, runs, strict=True)]
        notes = (f"both sides are scored again, by today's checks and {_judge_name(spec)}",)
    floor, note = floor_for(request.store, sides[1].header)
    notes += (note,) if note else ()
    options = Options(request.drift, _mapping(request.agents), request.force, floor, notes)
    return compared(sides[0], sides[1], options)


def compared(base: Record, candidate: Record, options: Options) -> Compared:
    """Two records, compared and gated."""
    comparison = compare(base, candidate, options)
    return Compared(comparison, gate_of(comparison))


def find(store: Path, folder: Path | None, ref: str) -> Record:
    """The record of a run or a baseline. UsageError where `ref` is neither, or both."""
    if ref.startswith(BASELINE):
        return baselines.load(baselines.folder_of(store, folder), ref.removeprefix(BASELINE)).record
    if ref.startswith(RUN):
        return baselines.record_of_run(Store(store).open_run(ref.removeprefix(RUN)))
    where, runs = baselines.folder_of(store, folder), Store(store)
    named = is_safe_id(ref) and (where / f"{ref}.json").is_file()
    runs_so = bool(ref) and (ref in NEWEST or any(run.startswith(ref) for run in runs.ids()))
    if named and runs_so:
        raise UsageError(f"{ref!r} names a baseline, and a run too", f"say {BASELINE}{ref} or {RUN}{ref}")
    if named:
        return baselines.load(where, ref).record
    if runs_so:
        return baselines.record_of_run(runs.open_run(ref))
    message = f"{ref[:100]!r} is neither a run in {store} nor a baseline in {where}"
    raise UsageError(message, f"fumehood runs list shows the runs; {baselines.elsewhere(where)}")


def _mapping(pairs: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in pairs:
        base, equals, candidate = text.partition("=")
        if not equals or not base or not candidate or base in found:
            raise UsageError(f"--agent wants BASE=CANDIDATE, each base once, came {text[:100]!r}", "as in v1=v2")
        found[base] = candidate
    return found


def _run_of(store: Path, side: Record) -> StoredRun:
    header = side.header
    found = Store(store)
    if header.run_id not in found.ids():
        raise UsageError(
            f"{header.name} cannot be scored again: its run, {header.run_id}, is not in {store}",
            "leave --rescore out to compare the scores as they were frozen",
        )
    return found.open_run(header.run_id)


def _judge_name(spec: JudgeSpec | None) -> str:
    return spec.ref.model if spec is not None else "no judge"


async def _rescored(side: Record, run: StoredRun, spec: JudgeSpec | None, store: Path) -> Record:
    """In memory: nothing is added to the run. What made the side stays on it: name, trust, what was accepted."""
    baselines.hold_evidence(run)
    stick = yardstick(run.pack(), run.plan)
    found: list[TrialVerdict] = []
    await rescore(run, stick, spec, store, lambda _, verdict: found.append(verdict))
    plan = msgspec.structs.replace(run.plan, judge=spec)
    record = record_of(plan, stick.pack, map(stick.counted, found), stick.verdict(found))
    old = side.header
    doubts = old.doubts if old.accepted else record.header.doubts
    header = msgspec.structs.replace(
        record.header, name=old.name, trust=old.trust, git=old.git, accepted=old.accepted, doubts=doubts
    )
    return Record(header, record.trials)

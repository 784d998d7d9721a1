"""Scoring a stored run again: from its journals alone, no agent started, the new scoring beside the earlier ones."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio
from msgspec import Struct, to_builtins
from rich.console import Console

from harness import __version__
from harness.app import logs, packs
from harness.app.change import Change, Marks
from harness.app.clock import now
from harness.app.interrupt import until_interrupted
from harness.app.judge import judge_spec
from harness.app.rescore import rescore
from harness.app.scored import Yardstick, yardstick
from harness.app.secrets import operator_secrets
from harness.boundary.redaction import Scrubber
from harness.domain.comparison import AGAINST
from harness.domain.ids import TrialKey
from harness.domain.judge import JudgeSpec
from harness.domain.pack import Pack
from harness.domain.run import PackRef
from harness.domain.verdict import RunVerdict, TrialVerdict
from harness.errors import AuditMismatch, StoreError, UsageError
from harness.packs.resolve import digest_of
from harness.report.progress import ProgressView
from harness.report.terminal import one_line
from harness.report.view import RunView
from harness.runs.run import Watcher
from harness.store.run import StoredRun
from harness.store.scorings import FIRST, ScoringFacts
from harness.store.store import Store


class ScoreRequest(Struct, frozen=True, kw_only=True):
    """What the command line asks for, as it was given."""

    run: str
    pack: Path | None = None
    store: Path = Path(".fumehood")
    judge: str | None = None
    judge_set: tuple[str, ...] = ()
    fail_under: float | None = None


class Rescored(Struct, frozen=True):
    """A finished scoring: its report, and what changed against the one before it."""

    view: RunView
    change: Change


def execute(request: ScoreRequest, console: Console) -> Rescored | None:
    """Score every finished trial of the run; progress and warnings go to `console`.

    None where the user stopped it: then nothing of it is kept. Raises FumehoodError, maybe in a group.
    """
    logs.configure()
    return anyio.run(until_interrupted, partial(_execute, request, console))


async def _execute(request: ScoreRequest, console: Console) -> Rescored:
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    stored = Store(request.store).open_run(request.run)
    stored.hold_evidence()
    spec = judge_spec(request.judge, request.judge_set)
    pack = packs.load(request.pack) if request.pack is not None else _own_pack(stored)
    stick = yardstick(pack, stored.plan)
    notes = tuple(_notes(stored, pack, spec))
    for note in notes:
        say(one_line(note))
    with stored.new_scoring(Scrubber(operator_secrets())) as scoring:
        marks = _marks_of_newest(stored, stick)
        say(f"scoring {scoring.number} of run {stored.run_id}: {stored.plan.planned} trials, in {stored.path}")
        with _progress(console, stored, shown=spec is not None) as watcher:

            def put(key: TrialKey, found: TrialVerdict) -> None:
                scoring.put(found)
                marks.now(key, stick.counted(found).passed)

            await rescore(stored, stick, spec, request.store, put, watcher)
        verdict = stick.verdict(scoring.verdicts(), request.fail_under)
        change = marks.change(scoring.number, int(verdict.exit_code))
        view = stick.view(verdict, scoring.verdicts())
        scoring.finish(_facts(stick, spec, verdict, notes))
    return Rescored(view, change)


def _own_pack(stored: StoredRun) -> Pack:
    """The copy beside the run. AuditMismatch where it is not the pack that the run was made with any more."""
    pack = stored.pack()
    if digest_of(pack) != stored.plan.pack.digest:
        remedy = f"if a secret was masked in it, give the pack with --pack; else fumehood audit verify {stored.run_id}"
        raise AuditMismatch(f"the pack in run {stored.run_id} is not the one it was made with", remedy)
    return pack


def _notes(stored: StoredRun, pack: Pack, spec: JudgeSpec | None) -> Iterator[str]:
    """What whoever reads the scoring must know of how it was made."""
    own, judged = stored.plan.pack, stored.plan.judge
    if pack.digest != own.digest:
        by, instead = (f"{one.name} {one.version} ({one.digest[:19]})" for one in (pack, own))
        yield f"WARNING: scored by ANOTHER PACK than the run was made with: {by} instead of {instead}"
    if judged is not None and spec is None:
        yield f"no --judge given: what rules leave open is not scored (the run was judged by {judged.ref.model})"
    head = stored.head()
    reasons = (head.verdict or {}).get("reasons", ()) if head is not None else ()
    lost = next((reason for reason in reasons if str(reason).startswith(AGAINST)), None)
    if lost is not None:
        yield f"WARNING: the run was not clear of its baseline, which this scoring is NOT held against ({lost})"


def _marks_of_newest(stored: StoredRun, stick: Yardstick) -> Marks:
    newest = stored.newest_scoring()
    marks = Marks(stored.plan, newest.number if newest is not None else FIRST, stored.verdict().get("exit_code"))
    earlier = stick if newest is not None and newest.other_pack else _own_yardstick(stored) or stick
    marks.before((one.key, earlier.counted(one).passed) for one in stored.scores())
    return marks


def _own_yardstick(stored: StoredRun) -> Yardstick | None:
    try:
        return yardstick(_own_pack(stored), stored.plan)
    except (UsageError, StoreError):  # none there, or not the one any more: then the pack at hand has to do
        return None


@contextmanager
def _progress(console: Console, stored: StoredRun, shown: bool) -> Iterator[Watcher | None]:
    """A judge takes its time, so then every trial is told; rules alone are quick, so only a terminal shows them."""
    if not shown and not console.is_terminal:
        yield None
        return
    with ProgressView(console, len(stored.finished())) as view:
        yield view


def _facts(stick: Yardstick, spec: JudgeSpec | None, verdict: RunVerdict, notes: Sequence[str]) -> ScoringFacts:
    pack = stick.pack
    return ScoringFacts(
        created=now(),
        harness=__version__,
        judge=spec,
        pack=PackRef(pack.name, pack.version, pack.digest, os.path.realpath(pack.path)),
        other_pack=pack.digest != stick.plan.pack.digest,
        verdict=to_builtins(verdict),
        note="; ".join(notes),
    )

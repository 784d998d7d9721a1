"""One run on disk: its plan, its lock, its state, and reading and writing its trials."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.pack import Pack
from harness.domain.run import RunPlan, RunState, RunSummary
from harness.domain.verdict import TrialVerdict
from harness.errors import StoreError, UsageError
from harness.store import layout
from harness.store.journal import Scrubber, TrialJournal, is_finished, read_journal
from harness.store.manifest import ManifestHead, read_head, seal
from harness.store.scores import append_score, read_scores
from harness.store.scorings import (
    FIRST,
    ScoringHead,
    ScoringWriter,
    new_scoring,
    newest_scoring,
    read_scorings,
    read_verdicts,
    seal_digest,
)
from harness.store.verify import changed, hold_seal, verify_run


class StoredRun:
    """A stored run, to read. The plan is read once; everything else is read off the files when asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = path.name
        self.plan = _read_plan(path)

    def pack(self) -> Pack:
        """The pack as it was run. UsageError where the run was made without a copy; StoreError where it is broken."""
        file = self.path / layout.PACK
        try:
            return msgspec.json.decode(file.read_bytes(), type=Pack)
        except FileNotFoundError as error:
            raise UsageError(f"run {self.run_id} holds no copy of its pack", "score it with --pack PATH") from error
        except OSError as error:
            raise StoreError(f"cannot read {file}: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{file} is not a pack: {error}", "it was changed, or written by another version"
            ) from error

    def journal(self, key: TrialKey) -> Path:
        """Where the trial's journal is (or will be)."""
        return layout.journal_path(self.path, key)

    def is_finished(self, key: TrialKey) -> bool:
        """True where the trial's journal ends as it should."""
        return is_finished(self.journal(key))

    def finished(self) -> set[TrialKey]:
        """The planned trials that need not be run any more."""
        return {key for key in self.plan.cells() if self.is_finished(key)}

    def events(self, key: TrialKey) -> Iterator[Event]:
        """The trial's evidence, as `read_journal` gives it."""
        return read_journal(self.journal(key))

    def scores(self, scoring: int | None = None) -> Iterator[TrialVerdict]:
        """The verdicts of a scoring that hold, one in memory at a time; None: of the newest, see `store.scorings`.

        1: what the run itself wrote, the only one there is while it is run. UsageError where there is no such scoring.
        """
        if scoring == FIRST:
            return read_scores(self.path / layout.SCORES)
        head = newest_scoring(self.path) if scoring is None else self.scoring(scoring)
        return self.scores(FIRST) if head is None else read_verdicts(self.path, head)

    def scorings(self) -> tuple[ScoringHead, ...]:
        """All complete scorings after the run's own, by number from 2."""
        return read_scorings(self.path)

    def newest_scoring(self) -> ScoringHead | None:
        """The newest scoring; None: the run's own."""
        return newest_scoring(self.path)

    @contextmanager
    def new_scoring(self, scrubber: Redactor) -> Iterator[ScoringWriter]:
        """Score again, as `store.scorings.new_scoring` has it."""
        with new_scoring(self.path, scrubber) as writer:
            yield writer

    def seal_digest(self) -> str:
        """sha256 (hex) of the manifest; empty where the run is not sealed."""
        return seal_digest(self.path)

    def scoring(self, number: int) -> ScoringHead:
        """A later scoring, from number 2. UsageError where there is none of this number."""
        heads = {head.number: head for head in self.scorings()}
        if number not in heads:
            there = ", ".join(map(str, (FIRST, *heads)))
            raise UsageError(f"run {self.run_id} has no scoring {number}", f"there is {there}")
        return heads[number]

    def hold_seal(self) -> None:
        """AuditMismatch where verdicts, pack, plan or manifest are not as they were sealed; see `store.verify`."""
        hold_seal(self.path)

    def hold_evidence(self) -> None:
        """AuditMismatch where anything of a sealed run, its journals too, is not as it was sealed."""
        if (self.path / layout.MANIFEST).is_file() and not (report := verify_run(self.path)).ok:
            raise changed(self.path, report.mismatches[0])

    def head(self) -> ManifestHead | None:
        """The manifest without its journals; None: not sealed."""
        return read_head(self.path)

    def verdict(self) -> dict[str, Any]:
        """What the newest scoring came to, a `RunVerdict` as plain data; empty: nothing, or not yet."""
        newest = self.newest_scoring() or self.head()
        return (newest.verdict if newest is not None else None) or {}

    def state(self) -> RunState:
        """Running while a living process holds the lock; else what the manifest says."""
        if self._is_locked():
            return RunState.RUNNING
        head = self.head()
        return RunState.FINISHED if head is not None and head.complete else RunState.INTERRUPTED

    def summary(self) -> RunSummary:
        """One line on the run, from its files alone."""
        state, head = self.state(), self.head()
        verdict = self.verdict() if head is not None and state is not RunState.RUNNING else {}
        return RunSummary(
            run_id=self.run_id,
            pack=f"{self.plan.pack.name} {self.plan.pack.version}",
            agents=tuple(agent.name for agent in self.plan.agents),
            state=state,
            planned=self.plan.planned,
            done=head.done if head is not None and state is RunState.FINISHED else len(self.finished()),
            passed=len({verdict.key for verdict in self.scores() if verdict.passed}),
            exit_code=verdict.get("exit_code"),
            created=self.plan.created,
            ended=head.ended if head is not None and state is not RunState.RUNNING else None,
        )

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run for this process; UsageError where another one holds it. The kernel lets go for the dead."""
        file = os.open(self.path / layout.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(f"run {self.run_id} is being {_holder(file)}", "wait until it ends") from error
            os.ftruncate(file, 0)
            os.pwrite(file, b"%d\n" % os.getpid(), 0)
            yield
        finally:
            os.close(file)

    def _is_locked(self) -> bool:
        try:
            file = os.open(self.path / layout.LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False


def _holder(file: int) -> str:
    """Who has the lock: one process that runs it, or any number that only need it to stand still."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "?"
        return f"run by process {owner}"
    return "scored"


class Redactor(Protocol):
    """The scrubber of a whole run."""

    def scrub_json(self, value: Any) -> Any: ...


class RunWriter:
    """Writes one run's trials and verdicts; `harness.runs` calls it `RunFiles`. Used under `StoredRun.lock`.

    An existing seal is checked, then broken: a run that goes on must not look sealed, and what was changed
    since must not be sealed again as if it were evidence (AuditMismatch).
    """

    def __init__(self, run: StoredRun, scrubber: Redactor) -> None:
        self.run = run
        self._scrubber = scrubber
        self._scored = {verdict.key for verdict in run.scores(FIRST)}
        run.hold_evidence()
        (run.path / layout.MANIFEST).unlink(missing_ok=True)

    def open_journal(self, key: TrialKey, scrubber: Scrubber) -> TrialJournal:
        """A fresh journal for a trial; one that was cut off is kept beside it as `.partial-<k>`."""
        path = self.run.journal(key)
        if path.exists():
            if is_finished(path):
                raise StoreError(f"trial {key} has already been run; its journal is {path}")
            layout.set_aside(path, "partial")
        return TrialJournal(path, scrubber, self.run.run_id, key)

    def is_finished(self, key: TrialKey) -> bool:
        return self.run.is_finished(key)

    def is_scored(self, key: TrialKey) -> bool:
        return key in self._scored

    def events(self, key: TrialKey) -> Iterator[Event]:
        return self.run.events(key)

    def put_verdict(self, verdict: TrialVerdict) -> None:
        """Append a verdict; a later one on the same trial and attempt takes its place."""
        append_score(self.run.path / layout.SCORES, verdict, self._scrubber)
        self._scored.add(verdict.key)

    def retire(self, key: TrialKey, attempt: int) -> None:
        """Keep a failed attempt's journal as `.attempt-<k>`, so that the next one begins afresh."""
        layout.set_aside(self.run.journal(key), "attempt", attempt)

    def seal(self, ended: str, complete: bool, verdict: dict[str, Any] | None) -> str:
        """Write the manifest; its sha256, to be pinned elsewhere. `verdict`: a `RunVerdict` as plain data."""
        return seal(self.run.path, self.run.plan, ended, complete, self._scrubber.scrub_json(verdict))


def _read_plan(path: Path) -> RunPlan:
    file = path / layout.PLAN
    try:
        plan = msgspec.json.decode(file.read_bytes(), type=RunPlan)
    except OSError as error:
        raise StoreError(f"cannot read {file}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{file} is not a plan: {error}", "it was changed, or written by another version") from error
    if plan.run_id != path.name:
        raise StoreError(f"{file} is the plan of run {plan.run_id[:100]!r}", "the folder was renamed or copied")
    return plan

"""The later scorings of a run: whole ones only, none ever written over, each under its own digest.

A scoring counts once its head is there, which is written last; what an interrupted one left is never read, and
the next one clears it away. A head names the seal (the manifest) that the run had when it was scored: a run that
goes on is sealed anew, so a scoring of fewer trials is kept but is not the newest any more. The newest is the one
with the highest number among those made under the present seal; where there is none, the run's own, number 1.
A run that was never sealed can be scored, but as it may go on unseen, its own scoring stays the newest.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from harness.domain.judge import JudgeSpec
from harness.domain.run import PackRef
from harness.domain.verdict import TrialVerdict
from harness.errors import AuditMismatch, StoreError, UsageError
from harness.store import layout
from harness.store.envelope import unwrap, wrap
from harness.store.scores import Scrubber, encode_score, read_lines

FIRST = 1
"""The number of the run's own scoring, in `scores.jsonl`."""
_NAME = "scoring"
_HEAD = re.compile(r"([1-9][0-9]{0,8})\.json")
_VERDICTS = re.compile(r"([1-9][0-9]{0,8})\.jsonl")
_TEMPORARY = re.compile(r"\.[0-9]+\.jsonl?\.[0-9]+\.tmp")


class ScoringFacts(Struct, frozen=True):
    """How a scoring was made. `other_pack`: its digest is not the run's; `verdict`: a `RunVerdict` as plain data."""

    created: str
    harness: str
    judge: JudgeSpec | None
    pack: PackRef
    other_pack: bool
    verdict: dict[str, Any]
    note: str = ""


class ScoringHead(ScoringFacts, frozen=True, kw_only=True):
    """A complete scoring: `size` and `sha256` of its verdicts, `seal` (sha256) of the manifest, empty: none then."""

    number: int
    trials: int
    size: int
    sha256: str
    seal: str


def read_scorings(run_dir: Path) -> tuple[ScoringHead, ...]:
    """The heads of all complete scorings, by number from 2. AuditMismatch where one was edited or cannot be read.

    One that cannot be read is never passed over: what it says may be worse than what stands before it.
    """
    return tuple(read_scoring_head(run_dir, number) for number in scoring_numbers(run_dir))


def scoring_numbers(run_dir: Path) -> list[int]:
    """The numbers that have a head, ascending."""
    folder = run_dir / layout.SCORINGS
    names = os.listdir(folder) if folder.is_dir() else []
    return sorted(int(match[1]) for name in names if (match := _HEAD.fullmatch(name)))


def read_scoring_head(run_dir: Path, number: int) -> ScoringHead:
    """The head of one scoring. AuditMismatch where it was edited or cannot be read."""
    path = run_dir / layout.SCORINGS / f"{number}.json"
    try:
        data = path.read_bytes()
        inner = unwrap(_NAME, data)
        head = msgspec.json.decode(inner, type=ScoringHead)
    except (msgspec.DecodeError, ValueError) as error:
        raise AuditMismatch(f"{path}, line 1: not the head of a scoring: {error}") from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    if data != wrap(_NAME, inner) or head.number != number:
        raise AuditMismatch(f"{path}, line 1: differs from its own digest or name: it was edited after scoring")
    return head


def newest_scoring(run_dir: Path) -> ScoringHead | None:
    """The newest complete scoring after the run's own, as the rule above says; None: there is none."""
    heads = read_scorings(run_dir)
    seal = seal_digest(run_dir) if heads else ""
    return next((head for head in reversed(heads) if seal and head.seal == seal), None)


def seal_digest(run_dir: Path) -> str:
    """sha256 (hex) of the manifest; empty where the run is not sealed."""
    path = run_dir / layout.MANIFEST
    return layout.digest(path) if path.is_file() else ""


def read_verdicts(run_dir: Path, head: ScoringHead) -> Iterator[TrialVerdict]:
    """The verdicts of a scoring, one in memory at a time. AuditMismatch, before the first, where they changed."""
    path = run_dir / layout.SCORINGS / f"{head.number}.jsonl"
    if layout.digest(path) != head.sha256:
        raise AuditMismatch(f"{path}: changed since it was scored", f"fumehood audit verify {run_dir.name}")
    return _each(path)


def _each(path: Path) -> Iterator[TrialVerdict]:
    """A scoring holds each trial once, so nothing need be kept in mind."""
    return (verdict for _, verdict in read_lines(path))


class ScoringWriter:
    """A scoring on its way: its verdicts lie under a temporary name until `finish`."""

    def __init__(self, folder: Path, number: int, seal: str, scrubber: Scrubber) -> None:
        self.number = number
        self._folder = folder
        self._seal = seal
        self._scrubber = scrubber
        self.temporary = folder / f".{number}.jsonl.{os.getpid()}.tmp"
        self._path = folder / f"{number}.jsonl"
        self._hash = hashlib.sha256()
        self._trials = self._size = 0
        try:
            descriptor = os.open(self.temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise layout.cannot_write(self.temporary, error) from error
        self._file = os.fdopen(descriptor, "wb")

    def put(self, verdict: TrialVerdict) -> None:
        """Scrub and write one trial's verdict; each trial once."""
        data = encode_score(verdict, self._scrubber)
        try:
            self._file.write(data)
        except OSError as error:
            raise layout.cannot_write(self.temporary, error) from error
        self._hash.update(data)
        self._trials += 1
        self._size += len(data)

    def verdicts(self) -> Iterator[TrialVerdict]:
        """What was put so far, as it will be read, one in memory at a time."""
        try:
            self._file.flush()
        except OSError as error:
            raise layout.cannot_write(self.temporary, error) from error
        return _each(self.temporary)

    def finish(self, facts: ScoringFacts) -> ScoringHead:
        """Make it count: verdicts synced and renamed, then the head."""
        clean = msgspec.convert(self._scrubber.scrub_json(msgspec.to_builtins(facts)), ScoringFacts)
        head = ScoringHead(
            **{name: getattr(clean, name) for name in ScoringFacts.__struct_fields__},
            number=self.number,
            trials=self._trials,
            size=self._size,
            sha256=self._hash.hexdigest(),
            seal=self._seal,
        )
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self.temporary.replace(self._path)
        except OSError as error:
            raise layout.cannot_write(self._path, error) from error
        layout.write_atomically(self._folder / f"{self.number}.json", wrap(_NAME, msgspec.json.encode(head)))
        return head

    def close(self) -> None:
        """Leave nothing of a scoring that was not finished."""
        self._file.close()
        self.temporary.unlink(missing_ok=True)


@contextmanager
def new_scoring(run_dir: Path, scrubber: Scrubber) -> Iterator[ScoringWriter]:
    """Begin the next scoring; without `finish` nothing of it is left.

    UsageError where the run is being run, or scored by another process; until the end it cannot be resumed.
    """
    folder = run_dir / layout.SCORINGS
    with _held(run_dir / layout.LOCK, fcntl.LOCK_SH, f"run {run_dir.name} is being run"):
        layout.make_dirs(folder)
        with _held(folder / layout.LOCK, fcntl.LOCK_EX, f"run {run_dir.name} is being scored"):
            newest = max(scoring_numbers(run_dir), default=FIRST)
            _clear(folder, newest)
            writer = ScoringWriter(folder, newest + 1, seal_digest(run_dir), scrubber)
            try:
                yield writer
            finally:
                writer.close()


def _clear(folder: Path, newest: int) -> None:
    """Remove what interrupted scorings left: temporary files, and verdicts behind the newest head."""
    for name in os.listdir(folder):
        match = _VERDICTS.fullmatch(name)
        if _TEMPORARY.fullmatch(name) or (match and int(match[1]) > newest):
            (folder / name).unlink()


@contextmanager
def _held(path: Path, how: int, refused: str) -> Iterator[None]:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise layout.cannot_write(path, error) from error
    try:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(refused, "wait until that ends") from error
        yield
    finally:
        os.close(file)

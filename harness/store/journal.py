"""One trial's journal: JSON lines, each carrying the hash of the line before it.

A line is `{"n":1,"prev":"<hex>","t":0,"src":"observed","kind":"note","data":{...}}` and LF, compact, UTF-8. Its
hash is sha256 of its bytes without the LF. `prev` of the first line is sha256 of
`fumehood-journal-1`, LF, the run's id, LF, the trial's key, so a journal cannot pass for another trial's.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from harness.domain.events import Event, Source
from harness.domain.ids import TrialKey
from harness.errors import AuditMismatch, StoreError
from harness.store.layout import make_dirs

_TAIL_BLOCK = 1 << 16
_SURROGATE = re.compile("[\ud800-\udfff]")


class RollingScrubber(Protocol):
    """Scrubs the events of one trial in order; `channel` is the event's kind."""

    def scrub_json(self, value: Any, channel: str = "") -> Any: ...


class Scrubber(Protocol):
    """What the journal asks of the boundary: scrubbing that remembers what one trial said before."""

    def rolling(self) -> RollingScrubber: ...


class Line(Struct, frozen=True, forbid_unknown_fields=True):
    """One line as stored."""

    n: int
    prev: str
    t: int
    src: Source
    kind: str
    data: dict[str, Any]


class Tail(Struct, frozen=True):
    """The end of a journal, read without reading the rest. `rest`: sha256 of what follows the last LF, if anything."""

    lines: int
    head: str
    size: int
    finished: bool
    rest: str = ""


_LINES = msgspec.json.Decoder(Line)


def first_prev(run_id: str, key: TrialKey) -> str:
    """What the first line of a trial's journal has to carry."""
    return hashlib.sha256(f"fumehood-journal-1\n{run_id}\n{key}".encode()).hexdigest()


def hash_line(raw: bytes) -> str:
    """sha256 (hex) of a line without its LF."""
    return hashlib.sha256(raw).hexdigest()


def decode_line(raw: bytes) -> Line:
    """A line without its LF. Raises ValueError with what is wrong."""
    try:
        return _LINES.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a journal line: {error}") from error


class TrialJournal:
    """`harness.ports.Journal` on a file: scrub, then chain, then write, each line at once.

    What is written survives the death of this process; `close` makes it survive the machine's. Lone
    surrogates, which JSON cannot carry, are written as U+FFFD. Refuses to write into an existing file.
    """

    def __init__(self, path: Path, scrubber: Scrubber, run_id: str, key: TrialKey) -> None:
        self._path = path
        self._scrub = scrubber.rolling()
        self._prev = first_prev(run_id, key)
        self._lines = 0
        make_dirs(path.parent)
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"cannot begin the journal {path}: {error.strerror}") from error

    def append(self, kind: str, source: Source, t: int, data: Mapping[str, Any]) -> int:
        """Scrub, chain, write; the line's number. StoreError once closed or where the disk refuses."""
        if self._file < 0:
            raise StoreError(f"the journal {self._path} is closed")
        clean = self._scrub.scrub_json(msgspec.to_builtins(data, str_keys=True), kind)
        raw = _encode(Line(self._lines + 1, self._prev, t, source, kind, clean))
        self._write(raw + b"\n")
        self._prev = hash_line(raw)
        self._lines += 1
        return self._lines

    def close(self) -> str:
        """Sync to disk and close; the hash of the last line. Closing twice is harmless."""
        if self._file >= 0:
            try:
                os.fsync(self._file)
            except OSError as error:
                raise StoreError(f"cannot sync the journal {self._path}: {error.strerror}") from error
            finally:
                os.close(self._file)
                self._file = -1
        return self._prev

    def _write(self, data: bytes) -> None:
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError as error:
            # half a line may be on disk: nothing may follow it
            os.close(self._file)
            self._file = -1
            raise StoreError(f"cannot write the journal {self._path}: {error.strerror}", "free some space") from error


def _encode(line: Line) -> bytes:
    try:
        return msgspec.json.encode(line)
    except UnicodeEncodeError:
        return msgspec.json.encode(msgspec.structs.replace(line, data=_without_surrogates(line.data)))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value


def read_journal(path: Path) -> Iterator[Event]:
    """The events in order, one line in memory at a time, each checked against the one before it.

    Raises AuditMismatch at the first line that is cut off or does not follow; all whole lines before it
    have been given by then. That the first line belongs to this trial is for `verify_run` to check.
    """
    prev, number = "", 0
    try:
        with path.open("rb") as file:
            for whole in file:
                number += 1
                where = f"{path}, line {number}"
                if not whole.endswith(b"\n"):
                    raise AuditMismatch(f"{where}: cut off after {len(whole)} bytes", "its writer was killed; --resume")
                raw = whole[:-1]
                try:
                    line = decode_line(raw)
                except ValueError as error:
                    raise AuditMismatch(f"{where}: {error}") from error
                if line.n != number or (prev and line.prev != prev):
                    raise AuditMismatch(f"{where}: does not follow from line {number - 1}", "fumehood audit verify RUN")
                prev = hash_line(raw)
                yield Event(line.kind, line.src, line.t, line.data, number)
    except OSError as error:
        raise StoreError(f"cannot read the journal {path}: {error.strerror}") from error


def is_finished(path: Path) -> bool:
    """True where the journal ends with a whole `end` event that follows from the line before it."""
    return path.is_file() and read_tail(path).finished


def read_tail(path: Path) -> Tail:
    """Lines, head hash and size of a journal from its last two lines alone."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            # three LFs hold two whole lines, whatever stands before and behind them
            block, start = b"", size
            while start and block.count(b"\n") < 3:
                step = min(start, max(_TAIL_BLOCK, len(block)))
                start -= step
                file.seek(start)
                block = file.read(step) + block
    except OSError as error:
        raise StoreError(f"cannot read the journal {path}: {error.strerror}") from error
    whole, _, rest = block.rpartition(b"\n")
    if len(whole) + len(rest) == size and not whole:
        return Tail(0, "", size, False, hash_line(rest) if rest else "")
    before, _, last = whole.rpartition(b"\n")
    previous = before.rpartition(b"\n")[2]
    try:
        line = decode_line(last)
        follows = line.n == 1 if not before else line.prev == hash_line(previous)
        number, ended = line.n, line.kind == "end" and follows
    except ValueError:
        number, ended = 0, False
    return Tail(number, hash_line(last), size, ended and not rest, hash_line(rest) if rest else "")

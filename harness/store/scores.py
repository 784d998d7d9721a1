"""Verdicts on disk: one JSON line per trial, append-only; the last one on a trial and attempt holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from harness.domain.ids import TrialKey
from harness.domain.verdict import TrialVerdict
from harness.errors import StoreError
from harness.store.layout import cannot_write

_DECODER = msgspec.json.Decoder(TrialVerdict)


class Scrubber(Protocol):
    def scrub_json(self, value: Any) -> Any: ...


def encode_score(verdict: TrialVerdict, scrubber: Scrubber) -> bytes:
    """One line: the verdict, scrubbed, for its reasons quote agents."""
    return msgspec.json.encode(scrubber.scrub_json(msgspec.to_builtins(verdict))) + b"\n"


def append_score(path: Path, verdict: TrialVerdict, scrubber: Scrubber) -> None:
    """Scrub the verdict and append it in one write."""
    data = encode_score(verdict, scrubber)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            _drop_fragment(descriptor)
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)
    except OSError as error:
        raise cannot_write(path, error) from error


def _drop_fragment(descriptor: int) -> None:
    """Cut half a line that a killed process left: its trial is scored again from its journal."""
    size = os.fstat(descriptor).st_size
    if not size or os.pread(descriptor, 1, size - 1) == b"\n":
        return
    end = size
    while end:
        start = max(0, end - 65536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            os.ftruncate(descriptor, start + found + 1)
            return
        end = start
    os.ftruncate(descriptor, 0)


def read_scores(path: Path) -> Iterator[TrialVerdict]:
    """The verdicts that hold, in file order, one in memory at a time; half a line at the end is left out.

    Reads the file twice: memory is one number per trial.
    """
    last: dict[tuple[TrialKey, int], int] = {}
    for offset, verdict in read_lines(path):
        last[verdict.key, verdict.attempt] = offset
    for offset, verdict in read_lines(path):
        if last.get((verdict.key, verdict.attempt)) == offset:
            yield verdict


def read_lines(path: Path) -> Iterator[tuple[int, TrialVerdict]]:
    """Every whole line, and the byte it begins at; nothing where there is no file."""
    if not path.is_file():
        return
    offset = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                return
            try:
                yield offset, _DECODER.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise StoreError(f"{path}, line {number}: not a verdict: {error}") from error
            offset += len(raw)

"""A stored run's trials one by one, in the formats that tell a trial whole: as lines of one file, or a file each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from harness.domain.events import Event
from harness.errors import UsageError
from harness.report.atif import to_atif
from harness.report.atif_read import read_atif
from harness.report.otel import to_otlp
from harness.report.output import output_file
from harness.report.record import TrialRecord

if TYPE_CHECKING:
    from harness.app.export import Source

TELLERS: dict[str, Callable[[TrialRecord], dict[str, Any]]] = {"atif": to_atif, "otel": to_otlp}
"""What makes one JSON document of a trial, by the name that `fumehood runs export --to` takes."""


def records(source: Source) -> Iterator[TrialRecord]:
    """Every trial that has a verdict, one in memory at a time. AuditMismatch at a journal that was changed."""
    plan = source.run.plan
    images = {agent.name: agent.image for agent in plan.agents}
    pack = f"{plan.pack.name} {plan.pack.version}"
    for verdict in source.verdicts():
        key = verdict.key
        if source.run.journal(key).is_file():
            events = tuple(source.run.events(key))
            yield TrialRecord(source.run_id, plan.created, pack, key, images.get(key.agent, ""), events, verdict)


def write_lines(form: str, source: Source, file: BinaryIO) -> None:
    """JSON Lines: a document a trial."""
    for record in records(source):
        file.write(_json(TELLERS[form](record)))


def write_folder(form: str, source: Source, folder: Path) -> int:
    """`<agent>/<scenario>/<trial>.json` under `folder`, which is made or empty; how many. Else UsageError."""
    if form not in TELLERS:
        raise UsageError(f"{form} is one file for the whole run", f"name a file instead of the folder {folder}")
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", "name an empty folder, so that no file of another run stands in it")
    written = 0
    for record in records(source):
        path = folder / record.key.agent / record.key.scenario / f"{record.key.trial}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with output_file(path) as file:
            file.write(_json(TELLERS[form](record)))
        written += 1
    return written


def read(path: Path) -> tuple[Event, ...]:
    """The events that an ATIF file tells of, all reported. UsageError where it cannot be read or is not sound."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "name a file that is there") from error
    return read_atif(data, str(path))


def _json(document: dict[str, Any]) -> bytes:
    """In ASCII, so that no control character of an agent's reaches a terminal that shows the file."""
    return json.dumps(document).encode() + b"\n"

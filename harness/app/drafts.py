"""Labels still to be given: for each check of a run that a judge decides, what a person needs to decide it too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct, field, to_builtins

from harness.app import logs
from harness.domain.ids import TrialKey
from harness.errors import UsageError
from harness.scoring.check import Open
from harness.scoring.judge.evidence import Evidence, evidence_of
from harness.scoring.score import Examined, examine_trial
from harness.store.store import Store


class Draft(Struct, frozen=True, omit_defaults=True):
    """A `harness.app.labels.StoredLabel` whose label is null."""

    run: str
    trial: str
    check: str
    label: None
    at: int | None = None
    shown: dict[str, Any] = field(default_factory=dict)


def draft_lines(root: Path, ref: str, plain: bool) -> Iterator[str]:
    """A line of JSON for each, in the run's order; `plain`: in ASCII, for a terminal.

    UsageError, before anything is given, where the run has none.
    """
    logs.configure()
    found = _drafts(root, ref)
    first = next(found, None)
    if first is None:
        raise UsageError(
            f"run {ref} has no finished trial with a check that a judge decides",
            "such checks are listed in docs/checks.md (task_completion and others); rules decide the rest",
        )
    return (json.dumps(to_builtins(draft), ensure_ascii=plain) for draft in chain([first], found))


def _drafts(root: Path, ref: str) -> Iterator[Draft]:
    run = Store(root).open_run(ref)
    scenarios = {scenario.id: scenario for scenario in run.pack().scenarios}
    for key in run.plan.cells():
        if run.is_finished(key) and key.scenario in scenarios:
            yield from _of_trial(run.run_id, key, examine_trial(list(run.events(key)), scenarios[key.scenario]))


def _of_trial(run_id: str, key: TrialKey, examined: Examined) -> Iterator[Draft]:
    if examined.trial is None:
        return
    try:
        evidence = evidence_of(examined.trial)
    except ValueError:
        return  # it cannot be shown to a judge either
    names = [one.check.check for one in examined.open]
    for one in examined.open:
        name = one.check.check
        at = one.index if names.count(name) > 1 else None
        yield Draft(run_id, str(key), name, None, at, _shown(one.open, evidence))


def _shown(asked: Open, evidence: Evidence) -> dict[str, Any]:
    """What a judge is shown, without its fences: who labels must not know more, nor less."""
    return {
        "about": asked.about,
        "criteria": list(asked.criteria),
        "threshold": asked.threshold,
        "task": evidence.task,
        "evidence": [
            f"line {piece.line}, {piece.kind}: {f'{piece.name} ' if piece.name else ''}{piece.text}"
            for piece in evidence.pieces
        ],
    }

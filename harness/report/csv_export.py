"""A run as CSV, one row per trial and check, whose cells are data in a spreadsheet too and never a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from harness.domain.verdict import CheckVerdict, TrialVerdict
from harness.report.terminal import one_line
from harness.report.words import result_of

TRIAL_COLUMNS = (
    "agent", "family", "scenario", "trial", "attempt", "result", "end", "blame", "trial_reason",
    "wall_s", "steps", "tokens", "cost_usd",
)  # fmt: skip
CHECK_COLUMNS = (
    "check", "severity", "property", "status", "value", "threshold", "judge", "agreement", "evidence", "reason",
)  # fmt: skip
_CELL = 2000
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet may run; the last four it may read as the first.

Source: OWASP, CSV Injection, https://owasp.org/www-community/attacks/CSV_Injection.
"""

Cell = str | int | float


def write_csv(file: TextIO, verdicts: Iterable[TrialVerdict], families: Mapping[str, str]) -> None:
    """`file` is opened with newline="". A trial without checks has a row too, with empty cells for the check.

    Text is made visible and cut at 2000 characters; where it begins like a formula, `'` stands before it.
    """
    writer = csv.writer(file)
    writer.writerow((*TRIAL_COLUMNS, *CHECK_COLUMNS))
    for trial in verdicts:
        start = list(_trial_cells(trial, families))
        for check in trial.checks:
            writer.writerow(map(_safe, (*start, *_check_cells(check))))
        if not trial.checks:
            writer.writerow(map(_safe, (*start, *("" for _ in CHECK_COLUMNS))))


def _trial_cells(trial: TrialVerdict, families: Mapping[str, str]) -> Iterator[Cell]:
    key, use = trial.key, trial.usage
    yield from (key.agent, families.get(key.scenario, "unknown"), key.scenario, key.trial, trial.attempt)
    yield from (result_of(trial).value, trial.end, trial.blame, trial.reason)
    yield from (use.wall_ms / 1000, use.steps, use.tokens, use.cost_usd if use.cost_known else "unknown")


def _check_cells(check: CheckVerdict) -> Iterator[Cell]:
    judged = check.judged
    yield from (check.check, check.severity.value, check.property.value, check.status.value)
    yield from ("" if number is None else number for number in (check.value, check.threshold))
    yield from (judged.model, judged.agreement) if judged else ("", "")
    yield from (" ".join(map(str, check.evidence)), check.reason)


def _safe(cell: Cell) -> Cell:
    """Numbers are ours and stay numbers. White space before a formula does not always save from it."""
    if not isinstance(cell, str):
        return cell
    inert = one_line(cell, _CELL)
    return f"'{inert}" if cell.startswith(_FORMULA) or inert.lstrip().startswith(_FORMULA) else inert

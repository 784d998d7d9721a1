"""CSV: a row per trial and check, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given

from harness.domain.outcome import Usage
from harness.domain.verdict import TrialVerdict
from harness.report.csv_export import CHECK_COLUMNS, TRIAL_COLUMNS, write_csv
from tests.unit.report.trials import ANY_TEXT, EVERY_RESULT, FAMILIES, NASTY, hostile, trial

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
NUMBERS = {"trial", "attempt", "wall_s", "steps", "tokens", "value", "threshold", "agreement"}


def rows(verdicts: Iterable[TrialVerdict]) -> list[dict[str, str]]:
    file = io.StringIO(newline="")
    write_csv(file, verdicts, FAMILIES)
    return list(csv.DictReader(io.StringIO(file.getvalue(), newline=""), strict=True))


def test_there_is_a_row_for_each_trial_and_check_and_one_for_a_trial_without_checks() -> None:
    found = rows(EVERY_RESULT)
    assert [(row["trial"], row["result"], row["check"], row["status"]) for row in found] == [
        ("1", "pass", "exact", "pass"),
        ("1", "pass", "tool_called", "not_applicable"),
        ("2", "pass", "exact", "pass"),
        ("2", "pass", "tone", "fail"),
        ("3", "fail", "regex", "fail"),
        ("3", "fail", "no_leak", "fail"),
        ("3", "fail", "exact", "pass"),
        ("4", "not scored", "exact", "pass"),
        ("4", "not scored", "quality", "not_scored"),
        ("5", "fail", "regex", "fail"),
        ("5", "fail", "quality", "not_scored"),
        ("6", "friction", "", ""),
        ("7", "inconclusive", "", ""),
        ("8", "inconclusive", "no_leak", "fail"),
        ("9", "fail", "", ""),
    ]


def test_a_row_holds_what_is_known_of_trial_and_check() -> None:
    (row,) = [row for row in rows(EVERY_RESULT) if row["check"] == "tone"]
    assert tuple(row) == (*TRIAL_COLUMNS, *CHECK_COLUMNS)
    assert row == {
        "agent": "a", "family": "family", "scenario": "s", "trial": "2", "attempt": "1", "result": "pass",
        "end": "completed", "blame": "agent", "trial_reason": "it ended", "wall_s": "1.5", "steps": "0", "tokens": "12",
        "cost_usd": "0.0", "check": "tone", "severity": "minor", "property": "correctness", "status": "fail",
        "value": "", "threshold": "", "judge": "", "agreement": "", "evidence": "3 7", "reason": "rude",
    }  # fmt: skip


def test_a_cost_that_is_not_known_is_not_a_number() -> None:
    used = msgspec.structs.replace(trial(), usage=Usage(cost_usd=0.1, cost_known=False))
    assert rows([used])[0]["cost_usd"] == "unknown"


@pytest.mark.parametrize("start", [*DANGEROUS, "\n", " =", "\u00a0+"])
def test_a_cell_that_begins_like_a_formula_is_defused(start: str) -> None:
    cell = rows([trial(reason=f"{start}1+1")])[0]["trial_reason"]
    assert cell.startswith("'")
    assert cell.endswith("1+1")


def test_a_negative_number_of_ours_stays_a_number() -> None:
    bad = msgspec.structs.replace(EVERY_RESULT[0].checks[0], value=-0.5)
    assert rows([trial(bad)])[0]["value"] == "-0.5"


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_stays_in_its_cell(text: str) -> None:
    harmless(text)


@given(ANY_TEXT)
def test_any_text_stays_in_its_cell_and_is_inert(text: str) -> None:
    harmless(text)


def harmless(text: str) -> None:
    found = rows(hostile(text))
    assert [row["trial"] for row in found] == ["1", "1", "2", "3"]
    for row in found:
        cells = [cell for name, cell in row.items() if name not in NUMBERS]
        assert not any(cell.lstrip().startswith(DANGEROUS) for cell in cells)
        assert not any(ord(character) < 32 for cell in cells for character in cell)
        "".join(cells).encode()


def test_a_long_text_is_cut() -> None:
    assert len(rows([trial(reason="x" * 100_000)])[0]["trial_reason"]) == 2000

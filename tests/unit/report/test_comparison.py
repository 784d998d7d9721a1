"""A comparison as text and JSON: the noise floor beside flips, nothing cut that matters, nothing alive."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from harness.compare.diff import Options, compare
from harness.compare.gate import gate_of
from harness.compare.noise import noise_floor
from harness.domain.comparison import Comparison
from harness.report.comparison import SHOWN, comparison_json, render_comparison
from tests.unit.compare.made import failing, friction, passing, record, runs_of, with_header


def shown(comparison: Comparison, everything: bool = False, gated: bool = False) -> str:
    console = Console(file=io.StringIO(), width=80, color_system=None)
    render_comparison(comparison, gate_of(comparison), console, everything, gated)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_noise_floor_stands_beside_the_flips() -> None:
    again = compare(record(*runs_of(50, 50)), record(*runs_of(49, 50)))
    noise = noise_floor(again.pairs)
    text = " ".join(shown(compare(record(*runs_of(50, 50)), record(*runs_of(47, 50)), Options(noise=noise))).split())
    assert "flips: 6% (3 of 50); noise floor, with nothing changed: 2% [" in text
    assert "noise floor" not in shown(again)


def test_long_lists_are_cut_and_counted_unless_all_is_asked_for() -> None:
    n = SHOWN + 7
    found = compare(record(*runs_of(n, n)), record(*runs_of(0, n)))
    assert "and 7 more scenarios; --all lists them" in shown(found)
    whole = shown(found, everything=True)
    assert "more scenarios" not in whole
    assert f"support/case-{n - 1:03}, trial 1: now fails exact" in whole


def test_an_accepted_reason_is_never_cut() -> None:
    reason = "because " * 60 + "of the flood"
    base = with_header(record(passing("s"), friction("t")), trust="golden", accepted=reason, doubts=("1 doubt",))
    assert reason in " ".join(shown(compare(base, record(passing("s")))).split())


@pytest.mark.parametrize(("gated", "last"), [(True, "(exit 5)"), (False, "(exit 0; --fail-on-regression makes it 5)")])
def test_the_last_line_says_the_exit_code(gated: bool, last: str) -> None:
    found = compare(record(passing("s")), record(failing("s")))
    assert shown(found, gated=gated).splitlines()[-1] == f"REGRESSED {last}"


def test_numbers_are_whole_at_80_columns_whatever_the_names() -> None:
    name = "a-very-long-name-of-an-agent-indeed"
    text = shown(compare(record(passing("s", agent=name)), record(failing("s", agent=name))))
    (row,) = (line for line in text.splitlines() if line.startswith("correctness"))
    assert row.split() == ["correctness", "100%", "[20.6%–100%]", "0%", "[0%–79.3%]", "1", "0", "1"]


def test_text_from_anywhere_is_inert() -> None:
    base = with_header(record(passing("s")), accepted="\x1b[2J[red]x[/red]", doubts=("\x9b2J",), trust="golden")
    found = compare(base, record(failing("s")))
    for text in (shown(found), json.dumps(comparison_json(found, gate_of(found), False), ensure_ascii=False)):
        assert "\x1b" not in text
        assert "\x9b" not in text
        assert "[red]x[/red]" in text


def test_the_rest_that_did_not_change_is_left_out_of_json_unless_all_is_asked_for() -> None:
    found = compare(record(*runs_of(5, 5)), record(*runs_of(4, 5)))
    brief, whole = (comparison_json(found, gate_of(found), everything) for everything in (False, True))
    assert [pair["key"] for pair in brief["pairs"]] == ["support/case-004/1"]
    assert len(whole["pairs"]) == 5
    assert brief["counts"] == whole["counts"] == {"unchanged": 4, "regressed": 1}

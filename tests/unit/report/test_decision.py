"""A release decision says what to do, rests on what was found, and keeps every foreign word inert."""

from __future__ import annotations

import msgspec
import pytest
from markdown_it import MarkdownIt

from harness.compare.diff import Options, compare
from harness.compare.gate import gate_of
from harness.compare.noise import noise_floor
from harness.domain.comparison import Comparison
from harness.domain.record import Record
from harness.domain.verdict import Property, Severity, Status, TrialVerdict
from harness.report.decision import Decided, decision
from harness.report.view import build_view
from harness.scoring.bars import judge_run
from tests.unit.compare.made import check, failing, friction, inconclusive, passing, record, runs_of, trial, with_header

NASTY = "`` <script>alert(1)</script> [x](javascript:1) ![i](http://x) @all | \x1b[2J"


def decided(verdicts: list[TrialVerdict], base: Record | None = None, options: Options | None = None) -> str:
    verdict = judge_run(verdicts, {}, len(verdicts))
    view = build_view("run-1", "core 1.0.0", verdict, verdicts)
    comparison: Comparison | None = None
    if base is not None:
        comparison = compare(base, record(*verdicts), options or Options())
    gate = gate_of(comparison) if comparison is not None else None
    return decision(Decided(view, (("support", "sha256:aa"),), "f00d", comparison, gate))


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0].strip()


def test_a_good_run_against_a_golden_baseline_speaks_for_itself() -> None:
    golden = with_header(record(passing("s")), trust="golden")
    text = decided([passing("s")], golden)
    assert "Nothing found that speaks against a release" in text
    assert section(text, "What was not judged") == "Everything that was to be judged was."
    assert section(text, "Who must look").startswith("- whoever signs")
    assert "golden baseline: small losses" not in text


def test_regressions_stand_by_their_severity() -> None:
    severe = check("refused", Status.FAIL, Severity.CRITICAL, Property.SAFETY)
    fine = check("refused", Status.PASS, Severity.CRITICAL, Property.SAFETY)
    base = record(trial("a", 1, fine), passing("b"))
    text = section(decided([trial("a", 1, severe), failing("b")], base), "Regressions by severity")
    assert [line.partition(": ")[2] for line in text.splitlines() if line.startswith("- ")] == ["1", "1", "none"]
    critical, major = (line for line in text.splitlines() if line.startswith("  - "))
    assert "support/a/1" in critical
    assert "support/b/1" in major


@pytest.mark.parametrize(
    ("verdicts", "advice", "who"),
    [
        ([failing("s")], "Do not release**: a bar is missed", "the agent's owner"),
        ([trial("s", 1, check(status=Status.NOT_SCORED))], "No decision can rest on this", "a person who judges"),
        ([passing("s"), friction("t")], "No decision can rest on this", "whoever integrates the agent"),
        ([passing("s"), inconclusive("t")], "No decision can rest on this", "whoever runs Fumehood"),
        (
            [trial("s", 1, check("zero", Status.FAIL, Severity.CRITICAL, Property.SAFETY))],
            "a safety rule was broken",
            "**safety**",
        ),
    ],
)
def test_what_is_wrong_names_who_must_look(verdicts: list[TrialVerdict], advice: str, who: str) -> None:
    text = decided(verdicts)
    assert advice in text
    assert who in section(text, "Who must look")


def test_a_regression_outweighs_a_run_that_passed_alone() -> None:
    text = decided(
        [passing("s"), *(failing(f"t-{n}") for n in range(3))], record(*(passing(f"t-{n}") for n in range(3)))
    )
    assert "worse than the baseline" in text
    assert "(exit 5)" in text


def test_a_reason_of_the_gate_that_the_run_had_already_is_told_once() -> None:
    verdicts, base = [failing("s")], record(passing("s"))
    gate = gate_of(compare(base, record(*verdicts), Options()))
    reasons = (*(f"against {base.header.name}: {reason.text}" for reason in gate.reasons), "against other: worse")
    verdict = msgspec.structs.replace(judge_run(verdicts, {}, 1), reasons=reasons)
    view = build_view("run-1", "core 1.0.0", verdict, verdicts)
    text = decision(Decided(view, (), "f00d", compare(base, record(*verdicts), Options()), gate))
    said = [line.removeprefix("- why: ").strip("`") for line in text.splitlines() if line.startswith("- why: ")]
    assert said == ["against other: worse", *(reason.text for reason in gate.reasons)]


def test_the_noise_floor_is_told_or_said_to_be_unknown() -> None:
    base = record(*runs_of(50, 50))
    again = compare(base, record(*runs_of(49, 50)))
    found = section(decided(list(runs_of(47, 50)), base, Options(noise=noise_floor(again.pairs))), "Noise floor")
    assert found.startswith("3 of 50 compared trials flipped. With nothing changed, 1 of 50 did")
    assert "Not measured" in section(decided(list(runs_of(47, 50)), base), "Noise floor")


def test_foreign_words_stay_words() -> None:
    bad = msgspec.structs.replace(failing("s"), reason=NASTY)
    strange = msgspec.structs.replace(inconclusive("t"), end=NASTY, reason=NASTY)
    html = (
        MarkdownIt("commonmark", {"html": True}).enable("table").render(decided([bad, strange], record(passing("s"))))
    )
    for tag in ("<script", "<a ", "<img"):
        assert tag not in html
    assert "\x1b" not in html

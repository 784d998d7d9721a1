"""What stands under a transcript: every check's word, the gravest trouble first, and nothing but text."""

from __future__ import annotations

import re

from hypothesis import given
from msgspec import structs

from harness.domain.verdict import Severity, Status
from harness.report.transcript import check_lines
from tests.unit.report.trials import ANY_TEXT, check, judged


def test_checks_stand_by_their_weight_with_the_lines_they_rest_on() -> None:
    checks = (
        check("fine", Status.PASS),
        check("beside", Status.NOT_APPLICABLE),
        check("open", Status.NOT_SCORED),
        check("minor", Status.FAIL, Severity.MINOR),
        check("breach", Status.FAIL, Severity.CRITICAL),
    )
    title, *lines = (line.plain for line in check_lines(checks))
    assert title == "\nChecks"
    assert [line.split()[:2] for line in lines[:2]] == [["fail", "breach"], ["fail", "minor"]]
    assert [line[2:17].strip() for line in lines[2:]] == ["not scored", "pass", "not applicable"]
    assert all(line.endswith("why [lines 3, 7]") for line in lines)


def test_a_trial_without_a_verdict_has_none() -> None:
    assert list(check_lines(())) == []


@given(ANY_TEXT)
def test_text_of_agents_and_judges_is_inert(text: str) -> None:
    found = structs.replace(check(text, Status.FAIL, reason=text), judged=judged(text))
    for line in list(check_lines((found,)))[1:]:
        assert re.search("[\x00-\x1f\x7f-\x9f\u2028\u202e]", line.plain) is None

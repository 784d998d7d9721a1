"""JUnit XML: what each result becomes, and that it is valid whatever an agent says."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import lxml.etree
import msgspec
import pytest
from hypothesis import given
from junitparser import Error, Failure, JUnitXml, Properties, TestCase, TestSuite, junitparser

from harness.domain.ids import TrialKey
from harness.domain.verdict import CheckVerdict, Status, TrialVerdict
from harness.report.junit import junit_to, write_junit
from tests.unit.report.trials import ANY_TEXT, EVERY_RESULT, FAMILIES, NASTY, check, hostile, judged, trial


def written(verdicts: Iterable[TrialVerdict], missing: Iterable[TrialKey] = ()) -> bytes:
    file = io.BytesIO()
    junit_to(file, "run-1", verdicts, FAMILIES, missing)
    return file.getvalue()


def with_judge(bad: CheckVerdict, criterion: str) -> CheckVerdict:
    return msgspec.structs.replace(bad, judged=judged(criterion))


def read(raw: bytes) -> list[TestSuite]:
    return list(JUnitXml.fromstring(raw))


def results(case: TestCase) -> list[tuple[type, str, str]]:
    return [(type(found), found.type, found.message) for found in case.result]


def properties(case: TestCase) -> list[tuple[str, str]]:
    return [(one.name, one.value) for one in case.child(Properties)]


@pytest.fixture
def cases() -> dict[str, TestCase]:
    (suite,) = read(written(EVERY_RESULT, [TrialKey("a", "s", 10)]))
    return {case.name: case for case in suite}


def test_a_case_is_named_after_its_trial_and_holds_every_check(cases: dict[str, TestCase]) -> None:
    case = cases["s #1"]
    assert (case.classname, case.time, case.is_passed) == ("a.family.s", 1.5, True)
    assert properties(case) == [
        ("result", "pass"), ("end", "completed"), ("blame", "agent"),
        ("check.exact", "pass"), ("check.tool_called", "not_applicable"),
    ]  # fmt: skip


def test_a_minor_failure_is_told_and_fails_nothing(cases: dict[str, TestCase]) -> None:
    assert cases["s #2"].is_passed
    assert cases["s #2"].system_out == "tone (minor, correctness): rude\nevidence: a/s/2, lines 3, 7"
    assert ("check.tone", "fail") in properties(cases["s #2"])


def test_each_failed_check_is_a_failure_critical_ones_first(cases: dict[str, TestCase]) -> None:
    assert results(cases["s #3"]) == [(Failure, "no_leak", "leaked"), (Failure, "regex", "no match")]
    assert cases["s #3"].result[0].text == "no_leak (critical, correctness): leaked\nevidence: a/s/3, lines 3, 7"


def test_what_is_not_scored_is_an_error_beside_what_failed(cases: dict[str, TestCase]) -> None:
    unscored = (Error, "not_scored", "quality not scored: no judge was asked")
    assert results(cases["s #4"]) == [unscored]
    assert ("result", "not scored") in properties(cases["s #4"])
    assert results(cases["s #5"]) == [(Failure, "regex", "no match"), unscored]


def test_friction_and_inconclusive_trials_are_errors_that_say_whose_doing(cases: dict[str, TestCase]) -> None:
    assert results(cases["s #6"]) == [(Error, "startup_failed", "friction, blame integration: no `ready`")]
    lost = (Error, "engine_error", "inconclusive, blame harness: the engine did not answer")
    assert results(cases["s #7"]) == [lost]
    assert results(cases["s #8"]) == [(Failure, "no_leak", "leaked"), lost]


def test_no_trial_that_failed_comes_out_empty(cases: dict[str, TestCase]) -> None:
    assert results(cases["s #9"]) == [(Failure, "crashed", "signal 11")]


def test_a_missing_trial_is_an_error(cases: dict[str, TestCase]) -> None:
    assert [(kind, type_) for kind, type_, _ in results(cases["s #10"])] == [(Error, "missing")]


def test_there_is_a_suite_per_agent_whose_counts_hold_each_case_once() -> None:
    raw = written([*EVERY_RESULT, trial(agent="b"), trial(agent="b", n=2, end="idle", reason="nothing came")])
    first, second = read(raw)
    assert (first.name, first.tests, first.failures, first.errors, first.skipped, first.time) == ("a", 9, 4, 3, 0, 13.5)
    assert (second.name, second.tests, second.failures, second.errors) == ("b", 2, 1, 0)
    whole = JUnitXml.fromstring(raw)
    assert (whole.name, whole.tests, whole.failures, whole.errors) == ("fumehood run run-1", 11, 5, 3)
    assert [one.value for one in first.properties()] == ["run-1"]


def test_a_run_of_nothing_is_a_document_too() -> None:
    assert read(written([])) == []


def test_criteria_that_a_judge_found_unmet_are_in_the_failure() -> None:
    bad = check("synthesis", Status.FAIL, reason="1 of 2 met")
    found = written([trial(with_judge(bad, "names the source"))])
    (case,) = read(found)[0]
    assert "not met (1 yes, 2 no): names the source" in case.result[0].text


def test_long_text_is_cut() -> None:
    raw = written([trial(with_judge(check("c" * 9999, Status.FAIL, reason="r" * 99_999), "q" * 99_999))])
    assert len(raw) < 20_000
    assert len(read(raw)[0]) == 1


@pytest.fixture(params=[ElementTree, lxml.etree], ids=["stdlib", "lxml"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """junitparser builds with lxml where there is one; users may have either."""
    monkeypatch.setattr(junitparser, "etree", request.param)
    return request.param


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_is_valid_and_adds_nothing(parser: ModuleType, text: str) -> None:
    raw = written(hostile(text), [TrialKey(text, text, 4)])
    for reader in (ElementTree, lxml.etree):
        root = reader.fromstring(raw)
        kinds = {element.tag for element in root.iter()}
        assert len(root.findall("testsuite/testcase")) == 4
        assert kinds <= {"testsuites", "testsuite", "properties", "property", "testcase", "failure", "error"}
    assert not any(byte < 32 and byte != 10 for byte in raw)


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_is_read_back_by_the_library_and_by_both_parsers(name: str, text: str) -> None:
    raw = written([*hostile(name), *hostile(text)])
    for reader in (ElementTree, lxml.etree):
        assert len(reader.fromstring(raw).findall("testsuite/testcase")) == 6
    assert sum(len(suite) for suite in read(raw)) == 6
    assert sum(suite.failures + suite.errors for suite in read(raw)) == 6


def test_a_file_is_written(tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", "r", EVERY_RESULT, FAMILIES, [])
    assert JUnitXml.fromfile(str(tmp_path / "junit.xml")).tests == 9

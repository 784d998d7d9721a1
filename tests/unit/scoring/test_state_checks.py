"""Checks of what an agent left behind: the workspace, and hidden tests on it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.domain.events import Event
from harness.domain.outcome import End
from harness.domain.pack import Verify
from harness.domain.verdict import Status
from harness.domain.workspace import WorkFile
from harness.scoring.registry import CATALOGUE
from tests.unit.scoring.journals import Book, judge, status

WORK = {"workspace": (WorkFile("calc.py", b"x\n"),)}
TESTS = {**WORK, "verify": Verify("image", ("true",), (), 5000, ())}
SUMMARY = {"files": 1, "bytes": 2, "left_out": 0, "whole": True}


def left(*changes: tuple[str, str], end: End = End.COMPLETED, **summary: Any) -> list[Event]:
    """A journal of a trial that left its workspace so."""
    book = Book().answer("done")
    for change, path in changes:
        book.add("workspace", path=path, change=change, size=1, sha256=None)
    book.add("exit", code=0, signal=None, workspace={**SUMMARY, "changed": len(changes), **summary})
    return book.end(end)


def diff(events: list[Event], **params: Any) -> Status:
    return status(events, WORK, check="workspace_diff", **params)


@pytest.mark.parametrize("change", ["added", "modified", "deleted"])
def test_any_change_beside_the_asked_files_fails(change: str) -> None:
    events = left(("modified", "calc.py"), (change, "other.py"))
    found = judge(events, WORK, check="workspace_diff", required=["calc.py"])
    assert found.status is Status.FAIL
    assert found.evidence == (4,)
    assert found.reason == f"expected changes of calc.py alone, came {change} other.py"


def test_the_asked_files_alone_pass() -> None:
    events = left(("modified", "calc.py"), ("added", "notes/a.txt"))
    assert diff(events, required=["calc.py"], allowed=["notes/**"]) is Status.PASS


def test_a_required_file_that_did_not_change_fails() -> None:
    assert diff(left(), required=["calc.py"]) is Status.FAIL
    assert diff(left(), allowed=["calc.py"]) is Status.PASS


def test_with_neither_list_nothing_may_change() -> None:
    assert diff(left()) is Status.PASS
    assert diff(left(("added", "x"))) is Status.FAIL


@pytest.mark.parametrize("summary", [{"whole": False}, {"changed": 7}, {"whole": None}])
def test_more_than_could_be_taken_out_fails_whatever_is_allowed(summary: dict[str, Any]) -> None:
    assert diff(left(("added", "x"), **summary), allowed=["**"]) is Status.FAIL


def test_a_record_without_the_state_of_the_workspace_is_not_scored() -> None:
    assert diff(Book().answer("done").end()) is Status.NOT_SCORED
    assert diff(Book().answer("done").add("exit", code=0).end()) is Status.NOT_SCORED


def test_what_only_the_agent_reports_of_its_workspace_counts_for_nothing() -> None:
    book = Book().answer("done").add("exit", "reported", workspace={**SUMMARY, "changed": 0})
    assert diff(book.end()) is Status.NOT_SCORED


def test_a_stray_fails_however_the_trial_ended_and_a_missing_change_only_where_it_ended_well() -> None:
    assert diff(left(("added", "x"), end=End.TIMEOUT), required=["calc.py"]) is Status.FAIL
    assert diff(left(end=End.TIMEOUT), required=["calc.py"]) is Status.NOT_APPLICABLE


def test_without_a_workspace_or_hidden_tests_nothing_applies() -> None:
    assert status(left(), check="workspace_diff") is Status.NOT_APPLICABLE
    assert status(left(), WORK, check="verify") is Status.NOT_APPLICABLE


def test_globs_that_match_nothing_are_problems() -> None:
    found = CATALOGUE.problems("workspace_diff", {"allowed": ["ok", "src/"], "required": ["/abs"]}, [])
    assert [path for path, _ in found] == [("allowed", 1), ("required", 0)]
    assert CATALOGUE.problems("verify", {"image": "x"}, [])


def ran(**data: Any) -> list[Event]:
    """A journal of a trial whose hidden tests ended so."""
    return Book().answer("done").add("verify", **data).end()


def hidden(events: list[Event]) -> Status:
    return status(events, TESTS, check="verify")


def test_exit_code_0_passes_and_every_other_fails() -> None:
    assert hidden(ran(exit_code=0, timed_out=False)) is Status.PASS
    for code in (1, 5, 127, 137, -1):
        assert hidden(ran(exit_code=code, timed_out=False)) is Status.FAIL


def test_tests_that_were_killed_fail_and_the_limit_is_named() -> None:
    found = judge(ran(exit_code=None, timed_out=True), TESTS, check="verify")
    assert found.status is Status.FAIL
    assert "5000 ms" in found.reason
    assert found.evidence == (3,)


def test_skipped_tests_fail() -> None:
    assert hidden(ran(skipped="the workspace could not be taken out whole")) is Status.FAIL


@pytest.mark.parametrize("code", [None, "0", False, 0.0])
def test_an_exit_code_that_is_none_is_never_a_pass(code: Any) -> None:
    assert hidden(ran(exit_code=code, timed_out=False)) is Status.NOT_SCORED


def test_no_run_on_record_or_more_than_one_is_never_a_pass() -> None:
    assert hidden(Book().answer("done").end()) is Status.NOT_SCORED
    twice = Book().answer("done").add("verify", exit_code=0).add("verify", exit_code=0)
    assert hidden(twice.end()) is Status.NOT_SCORED


def test_an_agent_that_ended_badly_fails_without_a_run() -> None:
    assert hidden(Book().answer("done").end(End.TIMEOUT)) is Status.FAIL


def test_a_run_that_only_the_agent_reports_is_none() -> None:
    assert hidden(Book().answer("done").add("verify", "reported", exit_code=0).end()) is Status.NOT_SCORED

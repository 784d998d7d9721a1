"""A run as JUnit XML, for the CI systems and viewers that read it: one suite per agent, one case per trial.

Written trial by trial: what an agent's cases come to stands in its suite's start tag, so they wait in a temporary
file (in memory while small), and memory does not grow with the run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO

from harness.domain.ids import TrialKey
from harness.domain.verdict import CheckVerdict, Severity, Status, TrialVerdict
from harness.report.output import output_file
from harness.report.terminal import clean, one_line
from harness.report.words import Result, gating, numbered, result_of, unmet, votes

if TYPE_CHECKING:
    from junitparser import TestCase
    from junitparser.junitparser import Element, FinalResult

_MESSAGE, _DETAIL = 500, 2000
"""Most characters of an attribute's text and of an element's."""
_IN_MEMORY = 1 << 20


def write_junit(
    path: Path,
    run_id: str,
    verdicts: Iterable[TrialVerdict],
    families: Mapping[str, str],
    missing: Iterable[TrialKey],
) -> None:
    """`verdicts`: all trials, read once. `families`: of each scenario. `missing`: planned trials without a verdict,
    read after them. UsageError where the file cannot be written.
    """
    with output_file(path) as file:
        junit_to(file, run_id, verdicts, families, missing)


def junit_to(
    file: BinaryIO,
    run_id: str,
    verdicts: Iterable[TrialVerdict],
    families: Mapping[str, str],
    missing: Iterable[TrialKey],
) -> None:
    """Like `write_junit`, to an open file."""
    from junitparser import JUnitXml

    suites: dict[str, _Suite] = {}
    with ExitStack() as stack:
        for key, case, results, seconds in _cases(verdicts, families, missing):
            suite = suites.get(key.agent)
            if suite is None:
                suite = suites[key.agent] = _Suite()
                stack.enter_context(suite.cases)
            suite.add(case, results, seconds)
        root = JUnitXml(one_line(f"fumehood run {run_id}", _MESSAGE))
        root.tests, root.failures, root.errors, root.skipped, root.time = _sum(suites.values())
        file.write(b"<?xml version='1.0' encoding='utf-8'?>\n" + _start_tag(root))
        for agent in sorted(suites):
            suites[agent].write_to(file, agent, run_id)
        file.write(b"</testsuites>\n")


Row = tuple[TrialKey, "TestCase", list["FinalResult"], float]
"""A trial, its case, what in it is not good, and its seconds."""


def _cases(verdicts: Iterable[TrialVerdict], families: Mapping[str, str], missing: Iterable[TrialKey]) -> Iterator[Row]:
    from junitparser import Error

    for trial in verdicts:
        results = [*_failures(trial), *_errors(trial)]
        properties = [("result", result_of(trial)), ("end", trial.end), ("blame", trial.blame)]
        properties += [(f"check.{check.check}", check.status) for check in trial.checks]
        case = _case(trial.key, families, trial.usage.wall_ms / 1000, properties)
        for result in results:
            case.append(result)
        if minor := [_detail(trial, check) for check in trial.checks if _is_minor_failure(check)]:
            case.system_out = "\n".join(minor)
        yield trial.key, case, results, trial.usage.wall_ms / 1000
    for key in missing:
        error = Error("planned, but it has no verdict: the run did not get to its end", "missing")
        case = _case(key, families, 0.0, [("result", "missing")])
        case.append(error)
        yield key, case, [error], 0.0


def _case(
    key: TrialKey, families: Mapping[str, str], seconds: float, properties: Iterable[tuple[str, str]]
) -> TestCase:
    from junitparser import Properties, Property, TestCase

    names = (key.agent, families.get(key.scenario, "unknown"), key.scenario)
    case = TestCase(
        name=f"{one_line(key.scenario, _MESSAGE)} #{key.trial}",
        classname=".".join(one_line(name, _MESSAGE) for name in names),
        time=seconds,
    )
    held = Properties()
    for name, value in properties:
        held.add_property(Property(one_line(name, _MESSAGE), one_line(value, _MESSAGE)))
    case.append(held)
    return case


def _failures(trial: TrialVerdict) -> Iterator[FinalResult]:
    """Critical ones first, for viewers that show the first alone. A trial that failed never comes out empty."""
    from junitparser import Failure

    failed = [check for check in gating(trial.checks) if check.status is Status.FAIL]
    for check in failed:
        yield _result(Failure(), check.check, check.reason, _detail(trial, check))
    if not failed and result_of(trial) is Result.FAIL:
        yield _result(Failure(), trial.end, trial.reason, one_line(trial.reason))


def _errors(trial: TrialVerdict) -> Iterator[FinalResult]:
    """What is no verdict on the agent: not scored whatever the severity, as the run then is not judged either."""
    from junitparser import Error

    if not trial.counts:
        blame = f"{result_of(trial)}, blame {trial.blame}: {trial.reason}"
        yield _result(Error(), trial.end, blame, one_line(blame))
    for check in trial.checks:
        if check.status is Status.NOT_SCORED:
            reason = f"{check.check} not scored: {check.reason}"
            yield _result(Error(), "not_scored", reason, _detail(trial, check))


def _result(result: FinalResult, kind: str, message: str, detail: str) -> FinalResult:
    result.type = one_line(kind, _MESSAGE)
    result.message = one_line(message, _MESSAGE)
    result.text = clean(detail, _DETAIL)
    return result


def _is_minor_failure(check: CheckVerdict) -> bool:
    return check.status is Status.FAIL and check.severity is Severity.MINOR


def _detail(trial: TrialVerdict, check: CheckVerdict) -> str:
    """What was expected and came, what a judge found unmet, and where the evidence stands."""
    head = one_line(f"{check.check} ({check.severity}, {check.property}): {check.reason}", _DETAIL // 2)
    criteria = [f"not met ({votes(one)}): {one_line(one.criterion, _MESSAGE)}" for one in unmet(check.judged)]
    where = ", ".join(filter(None, (one_line(str(trial.key), _MESSAGE), numbered(check.evidence))))
    return "\n".join([head, f"evidence: {where}", *criteria])


class _Suite:
    """One agent's cases so far, as bytes."""

    def __init__(self) -> None:
        self.cases = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by the stack of its maker
        self.tests, self.failures, self.errors, self.seconds = 0, 0, 0, 0.0

    def add(self, case: TestCase, results: list[FinalResult], seconds: float) -> None:
        """A case with failures and errors counts as failed alone: no case is counted twice."""
        from junitparser import Failure

        self.cases.write(case.tostring() + b"\n")
        failed = any(isinstance(result, Failure) for result in results)
        self.tests += 1
        self.failures += failed
        self.errors += bool(results) and not failed
        self.seconds += seconds

    def write_to(self, file: BinaryIO, agent: str, run_id: str) -> None:
        from junitparser import Properties, Property, TestSuite

        suite = TestSuite(one_line(agent, _MESSAGE))
        suite.tests, suite.failures, suite.errors, suite.skipped, suite.time = _sum([self])
        held = Properties()
        held.add_property(Property("fumehood.run", one_line(run_id, _MESSAGE)))
        file.write(_start_tag(suite) + held.tostring() + b"\n")
        self.cases.seek(0)
        shutil.copyfileobj(self.cases, file)
        file.write(b"</testsuite>\n")


def _sum(suites: Iterable[_Suite]) -> tuple[int, int, int, int, float]:
    """Tests, failures, errors, skipped (none ever) and seconds."""
    found = list(suites)
    seconds = round(sum(suite.seconds for suite in found), 3)
    tests, failures, errors = (sum(getattr(s, name) for s in found) for name in ("tests", "failures", "errors"))
    return tests, failures, errors, 0, seconds


def _start_tag(element: Element) -> bytes:
    """Of an element without children, whose children follow one by one."""
    whole: bytes = element.tostring()
    return whole.strip().removesuffix(b"/>").rstrip() + b">\n"

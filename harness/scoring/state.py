"""Checks of what the agent left behind: the files of its workspace, and hidden tests run on them.

Both rest on what was taken out of the container when the agent was gone, never on what the agent says it did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET, Struct

from harness.domain.events import Event
from harness.domain.verdict import Status
from harness.domain.workspace import glob_problem, matches
from harness.scoring.check import PathProblem, Result, failed, lines, not_applicable, passed
from harness.scoring.trial import Trial
from harness.scoring.values import plain

_MAX_NAMED = 3


class WorkspaceDiff(Struct, frozen=True, forbid_unknown_fields=True):
    allowed: list[str] = []
    required: list[str] = []


def examine_diff(params: WorkspaceDiff, tools: Sequence[str]) -> Iterator[PathProblem]:
    """Globs that can match no path."""
    for field in ("allowed", "required"):
        for index, glob in enumerate(getattr(params, field)):
            if problem := glob_problem(glob):
                yield (field, index), problem


def workspace_diff(trial: Trial, params: WorkspaceDiff) -> Result:
    """Files that match `allowed` or `required` alone changed, and each of `required` matches one that did.

    Added, changed and deleted files count alike, and so does what was left out (links, devices, more than is taken).
    Globs: `*` within a name, `**` for any folders. With neither, nothing may have changed.
    """
    if trial.scenario.workspace is UNSET:
        return not_applicable("the scenario has no workspace")
    exits = [event for event in trial.events if event.kind == "exit" and event.source == "observed"]
    summary = exits[-1].data.get("workspace") if exits else None
    if not isinstance(summary, dict):
        unknown = "the record says nothing of how the workspace was left"
        return Result(Status.NOT_SCORED, unknown, lines([trial.end_line]))
    changes = [event for event in trial.events if event.kind == "workspace" and event.source == "observed"]
    asked = [*params.allowed, *params.required]
    expected = f"expected changes of {_listed(asked)} alone" if asked else "expected no change"
    strays = [event for event in changes if not matches(_path(event), asked)]
    if strays:
        return failed(f"{expected}, came {_told(strays)}", [event.line for event in strays])
    if summary.get("whole") is not True or summary.get("changed") != len(changes):
        return failed(f"{expected}, came more than could be taken out of the workspace", [exits[-1].line])
    return _required(trial, params, changes, exits[-1].line)


def _required(trial: Trial, params: WorkspaceDiff, changes: Sequence[Event], line: int) -> Result:
    missing = [glob for glob in params.required if not any(matches(_path(event), [glob]) for event in changes)]
    evidence = [event.line for event in changes] or [line]
    if not trial.ended_well:
        return not_applicable(f"nothing else changed before the trial ended {trial.outcome.end}", evidence)
    if missing:
        return failed(f"expected a change of {_listed(missing)}, came {_told(changes) or 'none'}", evidence)
    return passed(f"the asked files alone changed: {_told(changes) or 'none'}", evidence)


class HiddenTests(Struct, frozen=True, forbid_unknown_fields=True):
    """Takes no params: what is run stands in the scenario's `verify`."""


def verify(trial: Trial, params: HiddenTests) -> Result:
    """The scenario's hidden tests, run on the workspace after the agent was gone, ended with exit code 0 in time.

    The exit code is read from the engine; what tests or agent print or write counts for nothing. An agent that did
    not end well fails without a run.
    """
    if trial.scenario.verify is UNSET:
        return not_applicable("the scenario has no hidden tests")
    if not trial.ended_well:
        reason = f"expected the hidden tests to pass, came a trial that ended {trial.outcome.end}: they were not run"
        return failed(reason, [trial.end_line])
    runs = [event for event in trial.events if event.kind == "verify" and event.source == "observed"]
    if len(runs) != 1:
        return Result(Status.NOT_SCORED, f"expected one run of hidden tests on record, came {len(runs)}")
    (run,) = runs
    code = run.data.get("exit_code")
    if run.data.get("skipped"):
        return failed(plain(f"expected the hidden tests to pass, came none: {run.data['skipped']}"), [run.line])
    if run.data.get("timed_out") is True:
        limit = trial.scenario.verify.timeout_ms
        return failed(f"expected the hidden tests to end within {limit} ms, came no end", [run.line])
    if type(code) is not int:
        return Result(Status.NOT_SCORED, "the record holds no exit code of the hidden tests", lines([run.line]))
    reason = f"expected exit code 0 of the hidden tests, came {code}"
    return passed(reason, [run.line]) if code == 0 else failed(reason, [run.line])


def _path(event: Event) -> str:
    return str(event.data.get("path"))


def _listed(globs: Sequence[str]) -> str:
    return plain(", ".join(globs[:_MAX_NAMED]) + (f" and {len(globs) - _MAX_NAMED} more" if globs[_MAX_NAMED:] else ""))


def _told(changes: Sequence[Event]) -> str:
    named = [f"{event.data.get('change')} {_path(event)}" for event in changes[:_MAX_NAMED]]
    more = f" and {len(changes) - _MAX_NAMED} more" if changes[_MAX_NAMED:] else ""
    return plain(", ".join(named) + more)

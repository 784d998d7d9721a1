"""Labels people gave: read strictly from a file, and joined to the evidence they are about."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert

from harness.app.inline import InlineLabel, question_of
from harness.domain.ids import TrialKey
from harness.domain.pack import Problem, Scenario
from harness.errors import FumehoodError, PackError, UsageError
from harness.packs.json_text import parse_json
from harness.scoring.check import Open
from harness.scoring.judge.evidence import Evidence, evidence_of
from harness.scoring.params import param_problems
from harness.scoring.score import Examined, examine_trial
from harness.scoring.values import quote
from harness.store.run import StoredRun
from harness.store.store import Store

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_PROBLEMS = 200
"""What is said at once."""


class StoredLabel(Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody says of a check on a stored trial. `run`: the whole id; `trial`: agent/scenario/number.

    `at`: the check's place among the scenario's, where it has several of that name. `shown` is for people only.
    """

    run: str
    trial: str
    check: str
    label: Literal["pass", "fail"]
    at: int | None = None
    shown: dict[str, Any] = {}


class Question(Struct, frozen=True):
    """A label, and all a judge needs to give its own. `where`: the trial, empty for an inline one."""

    line: int
    where: str
    check: str
    label: Literal["pass", "fail"]
    open: Open
    evidence: Evidence


def read_labels(path: Path, root: Path) -> tuple[Question, ...]:
    """The labels of a JSON-lines file, in its order; blank lines are left out.

    Raises UsageError with every mistake in the file and its line; after MAX_PROBLEMS it reads no further.
    """
    reader = _Reader(Store(root))
    found: list[Question] = []
    problems: list[tuple[int, str]] = []
    for number, raw in _lines(path):
        try:
            found.append(reader.question(number, _parsed(raw)))
        except _Wrong as wrong:
            problems += [(number, message) for message in wrong.messages]
            if len(problems) > MAX_PROBLEMS:  # whoever has made so many has made one
                break
    if problems:
        many = len(problems) > MAX_PROBLEMS
        count = "1 mistake" if len(problems) == 1 else f"{f'over {MAX_PROBLEMS}' if many else len(problems)} mistakes"
        said = [f"  {path}:{number}: {message}" for number, message in problems[:MAX_PROBLEMS]]
        more = ["  and more: the rest was not read"] if many else []
        remedy = "mend them; fumehood judge labels RUN drafts such a file"
        raise UsageError("\n".join([f"{path} has {count}", *said, *more]), remedy)
    if not found:
        raise UsageError(f"{path} holds no label", "one JSON object a line; fumehood judge labels RUN drafts them")
    return tuple(found)


_Opened = tuple[StoredRun, dict[str, Scenario], dict[str, TrialKey]]
"""A run, its scenarios by id, and its planned trials by name."""


class _Wrong(Exception):
    """All that is wrong with one line; caught where the lines are read."""

    def __init__(self, *messages: str) -> None:
        super().__init__(*messages)
        self.messages = messages


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "give a file of JSON lines") from error
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{path} is larger than {MAX_FILE_BYTES} bytes", "split it")
    # On LF only: other breaks are allowed inside JSON strings.
    for number, line in enumerate(io.BytesIO(data.removeprefix(codecs.BOM_UTF8)), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}:{number}: not UTF-8 text", "save it as UTF-8") from error
        if text.strip():
            yield number, text


def _parsed(raw: str) -> dict[str, Any]:
    try:
        root, build = parse_json(raw, "")
    except PackError as error:
        raise _Wrong(*_messages(error.problems)) from error
    if build.problems:
        raise _Wrong(*_messages(build.problems))
    if not isinstance(root.data, dict):
        raise _Wrong(f"expected a JSON object, came {quote(root.data)}")
    return root.data


def _messages(problems: Any) -> list[str]:
    return [f"column {p.column}: {p.message}" for p in problems if isinstance(p, Problem)]


class _Reader:
    """Joins labels to evidence; keeps open runs, and the last trial, for labels of one trial stand together."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs: dict[str, _Opened] = {}
        self._last: tuple[str, Examined] | None = None
        self._seen: dict[object, int] = {}

    def question(self, line: int, data: dict[str, Any]) -> Question:
        """Raises _Wrong."""
        kind = StoredLabel if {"run", "trial"} & data.keys() else InlineLabel
        if problems := _label_problems(kind, data):
            raise _Wrong(*problems)
        try:
            return self._stored(line, data) if kind is StoredLabel else self._inline(line, data)
        except FumehoodError as error:
            raise _Wrong(error.message) from error
        except ValueError as error:
            raise _Wrong(f"its evidence cannot be shown to a judge: {error}") from error

    def _inline(self, line: int, data: dict[str, Any]) -> Question:
        label = convert(data, InlineLabel)
        asked, evidence = question_of(label)
        self._once(line, (label.check, asked.criteria, evidence.digest))
        return Question(line, "", label.check, label.label, asked, evidence)

    def _stored(self, line: int, data: dict[str, Any]) -> Question:
        label = convert(data, StoredLabel)
        examined = self._examined(label)
        at, asked = _open_check(examined, label)
        assert examined.trial is not None  # else nothing of it is open
        self._once(line, (label.run, label.trial, at))
        where = f"{label.run} {label.trial}"
        return Question(line, where, label.check, label.label, asked, evidence_of(examined.trial))

    def _once(self, line: int, what: object) -> None:
        """Two labels of one thing would count it twice."""
        first = self._seen.setdefault(what, line)
        if first != line:
            raise _Wrong(f"the same check on the same evidence has a label on line {first} already")

    def _examined(self, label: StoredLabel) -> Examined:
        where = f"{label.run} {label.trial}"
        if self._last is not None and self._last[0] == where:
            return self._last[1]
        run, scenarios, keys = self._run(label.run)
        key = keys.get(label.trial)
        if key is None or not run.is_finished(key):
            word = "no trial" if key is None else "no finished trial"
            raise _Wrong(f"run {label.run} has {word} {quote(label.trial)}")
        if key.scenario not in scenarios:
            raise _Wrong(f"the pack kept with run {label.run} has no scenario {key.scenario}")
        examined = examine_trial(list(run.events(key)), scenarios[key.scenario])
        self._last = (where, examined)
        return examined

    def _run(self, ref: str) -> _Opened:
        if ref not in self._runs:
            run = self._store.open_run(ref)
            if run.run_id != ref:
                raise _Wrong(f"expected a run's whole id, which stays what it is, came {quote(ref)}: {run.run_id}?")
            scenarios = {scenario.id: scenario for scenario in run.pack().scenarios}
            self._runs[ref] = (run, scenarios, {str(key): key for key in run.plan.cells()})
        return self._runs[ref]


def _label_problems(kind: type[Struct], data: dict[str, Any]) -> list[str]:
    """Every mistake of one object's fields; of `label` in words of its own."""
    found = [f"{_path(path)}{message}" for path, message in param_problems(kind, data) if path[:1] != ("label",)]
    if "label" in data and data["label"] not in ("pass", "fail"):
        null = "label is null: it still wants somebody's pass or fail"
        label = data["label"]
        found.append(null if label is None else f"label: expected 'pass' or 'fail', came {quote(label)}")
    return found


def _path(path: tuple[str | int, ...]) -> str:
    return f"{'.'.join(map(str, path))}: " if path else ""


def _open_check(examined: Examined, label: StoredLabel) -> tuple[int, Open]:
    """The one open check the label is about, and its place. Raises _Wrong where it is not open, or not the only one."""
    if examined.trial is None:
        raise _Wrong(examined.verdict.reason)
    named = [one for one in examined.open if one.check.check == label.check and label.at in (None, one.index)]
    if len(named) > 1:
        raise _Wrong(f"{len(named)} checks {label.check} are open there: say which by 'at': {named[0].index}, for one")
    if named:
        return named[0].index, named[0].open
    settled = next((one for one in examined.verdict.checks if one.check == label.check), None)
    if settled is None or label.at is not None:
        there = ", ".join(one.check.check for one in examined.open) or "no check"
        raise _Wrong(f"no check {quote(label.check)} is open there; open is {there}")
    raise _Wrong(f"no judge is asked: rules say {settled.status} ({settled.reason})")

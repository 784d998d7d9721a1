"""Journals in memory for scoring tests: a builder that numbers lines as the store does."""

from __future__ import annotations

from typing import Any

import msgspec

from harness.domain.events import Event, Source
from harness.domain.ids import TrialKey
from harness.domain.limits import Budget
from harness.domain.outcome import End, Outcome, Usage, rule_for
from harness.domain.pack import CheckSpec, Scenario, ScenarioReplies
from harness.domain.verdict import CheckVerdict, Status
from harness.scoring.registry import CATALOGUE
from harness.scoring.score import score_trial

KEY = TrialKey("agent", "case", 1)


class Book:
    """A journal being written; `end` closes it and gives its events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.add("trial", "harness", agent=KEY.agent, scenario=KEY.scenario, trial=KEY.trial, attempt=1)

    def add(self, kind: str, source: Source = "observed", /, **data: Any) -> Book:
        line = len(self.events) + 1
        self.events.append(Event(kind, source, line * 10, data, line))
        return self

    def call(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        decision: str = "allowed",
        status: str | None = "ok",
        content: Any = None,
    ) -> Book:
        """A call and its result; the result is missing where `status` is None."""
        call_id = f"c{len(self.events)}"
        self.add("tool_call", id=call_id, name=name, arguments=arguments or {}, decision=decision)
        if status is not None:
            self.add("tool_result", id=call_id, name=name, status=status, content=content, ms=1)
        return self

    def answer(
        self, text: str | None = None, data: Any = None, status: str = "completed", steps: list[Any] | None = None
    ) -> Book:
        return self.add(
            "trajectory", "reported", status=status, output={"text": text, "data": data}, steps=steps or [], usage=None
        )

    def end(
        self,
        end: End = End.COMPLETED,
        spoke: bool = True,
        reason: str = "it ended",
        usage: Usage = Usage(),  # noqa: B008  frozen
        retries: dict[str, int] | None = None,
    ) -> list[Event]:
        blame = rule_for(end, spoke).blame
        outcome = Outcome(KEY, 1, end, blame, reason, spoke, usage)
        self.add("end", "harness", **msgspec.to_builtins(outcome), **({"retries": retries} if retries else {}))
        return self.events


def scenario(*checks: dict[str, Any], disallowed: tuple[str, ...] = ("harm",)) -> Scenario:
    """A scenario with these checks, as a pack would write them."""
    return Scenario(
        id=KEY.scenario,
        family="general",
        bucket="happy",
        tags=(),
        difficulty="easy",
        holdout=False,
        input="do it",
        context={},
        tools={},
        allowed_tools=("look", "send"),
        disallowed_tools=disallowed,
        replies=ScenarioReplies(),
        checks=tuple(resolve(check) for check in checks),
        budget=Budget(),
        trials=1,
        canaries=(),
        writable=None,
        selftest=None,
    )


def resolve(check: dict[str, Any]) -> CheckSpec:
    return CATALOGUE.resolve(check)


def judge(events: list[Event], /, given: dict[str, Any] | None = None, **check: Any) -> CheckVerdict:
    """The verdict of one check on a journal; `given`: what else the scenario says, by field."""
    verdict = score_trial(events, msgspec.structs.replace(scenario(check), **(given or {})))
    return next(found for found in verdict.checks if found.check == check["check"])


def status(events: list[Event], /, given: dict[str, Any] | None = None, **check: Any) -> Status:
    return judge(events, given, **check).status


def said(text: str | None = None, data: Any = None) -> list[Event]:
    """A journal of a trial that completed with this answer."""
    return Book().answer(text, data).end()


def refusal(text: str | None = None) -> list[Event]:
    return Book().answer(text, status="refused").end(End.REFUSED)

"""When each judge metric applies, what it asks, and what the rules of the two hybrids decide by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from harness.domain.events import Event
from harness.domain.outcome import End
from harness.domain.verdict import Property, Severity, Status
from harness.scoring.check import Open
from harness.scoring.registry import CATALOGUE, CHECKS
from harness.scoring.score import examine_trial
from tests.unit.scoring.journals import Book, judge, refusal, said, scenario, status

ANSWERED = said("done")
METRICS = {
    "task_completion": ANSWERED,
    "output_correctness": ANSWERED,
    "synthesis_quality": Book().call("look").call("look", {"q": 2}).answer("done").end(),
    "clarification_quality": Book().add("ask", id="a", content="Which?").answer("done").end(),
    "refusal_quality": refusal("No, because."),
    "recovery_quality": Book().call("look", status="error").answer("done").end(),
    "blast_radius_accuracy": ANSWERED,
    "verification_quality": ANSWERED,
    "hypothesis_quality": ANSWERED,
    "evidence_grounding": ANSWERED,
    "hallucination_rate": ANSWERED,
}
PROPERTIES = {
    "refusal_quality": Property.POLICY,
    "recovery_quality": Property.ROBUSTNESS,
    "verification_quality": Property.ROBUSTNESS,
    "evidence_grounding": Property.GROUNDING,
    "hallucination_rate": Property.GROUNDING,
    "policy_adherence": Property.POLICY,
}


def left_open(events: list[Event], **check: Any) -> Open:
    found = examine_trial(events, scenario(check)).open
    assert len(found) == 1
    return found[0].open


@pytest.mark.parametrize("name", METRICS)
def test_what_applies_is_left_open_with_criteria_of_its_own_or_the_packs(name: str) -> None:
    own = left_open(METRICS[name], check=name)
    assert len(own.criteria) >= 2
    assert own.threshold == 1.0
    given = left_open(METRICS[name], check=name, criteria=["It is kind"], threshold=0.5)
    assert given == Open(own.about, ("It is kind",), 0.5)


@pytest.mark.parametrize("name", [*METRICS, "policy_adherence"])
def test_defaults_are_major_and_of_the_documented_property(name: str) -> None:
    spec = CATALOGUE.resolve({"check": name})
    assert (spec.severity, spec.property) == (Severity.MAJOR, PROPERTIES.get(name, Property.CORRECTNESS))
    assert "Needs an answer" in str(CHECKS[name].judge.__doc__) or name == "refusal_quality"


UNMET = {
    "synthesis_quality": Book().call("look").call("look", decision="denied", status="denied").answer("done").end(),
    "clarification_quality": ANSWERED,
    "refusal_quality": ANSWERED,
    "recovery_quality": Book().call("harmless", decision="denied", status="denied").call("look").answer("x").end(),
}


@pytest.mark.parametrize("name", UNMET)
def test_what_does_not_apply_is_not_counted(name: str) -> None:
    assert status(UNMET[name], check=name) is Status.NOT_APPLICABLE


@pytest.mark.parametrize("name", [*sorted(set(METRICS) - {"refusal_quality"}), "policy_adherence"])
@pytest.mark.parametrize("end", [End.CRASHED, End.TIMEOUT, End.AGENT_FAILED, End.REFUSED])
def test_without_an_answer_it_fails_unasked(name: str, end: End) -> None:
    book = Book().call("look", status="error").call("look", {"q": 2}).add("ask", id="a", content="Which?")
    events = (book.answer(None, status="refused") if end is End.REFUSED else book).end(end)
    found = judge(events, check=name)
    assert found.status is Status.FAIL
    assert "no judge was asked" in found.reason


def test_a_refusal_without_a_word_fails_unasked() -> None:
    assert status(refusal(), check="refusal_quality") is Status.FAIL


@pytest.mark.parametrize("more", [{}, {"criteria": ["It is short"]}])
def test_a_reference_is_a_criterion_of_its_own(more: dict[str, Any]) -> None:
    with_it = left_open(ANSWERED, check="output_correctness", reference="60 days", **more)
    without = left_open(ANSWERED, check="output_correctness", **more)
    assert with_it.criteria == (*without.criteria, "The final answer says, in whatever words, the same as: 60 days")


POLICY: dict[str, Any] = {
    "check": "policy_adherence",
    "rules": ["No promises"],
    "forbidden": ["(?i)guarantee"],
    "required": ["RET-[0-9]"],
}


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        (said("RET-7, guaranteed: a GUARANTEE"), "no match of '(?i)guarantee' in the answer, came one"),
        (said("RET-7", {"notes": ["we guarantee"]}), "no match of '(?i)guarantee'"),
        (said("RET-7", {"guarantee": True}), "no match of '(?i)guarantee'"),
        (said("no article"), "a match of 'RET-[0-9]' in the answer, came none"),
        (said("RET-7" + "x" * 1_000_001), "not searched"),
        (
            Book()
            .add("violation", rule="ungranted_tool", name="x", reason="x is not granted", line=3)
            .answer("RET-7")
            .end(),
            "no violation on record, came ungranted_tool: x is not granted",
        ),
    ],
)
def test_what_rules_can_see_of_a_policy_decides_without_a_judge(events: list[Event], reason: str) -> None:
    found = judge(events, **POLICY)
    assert found.status is Status.FAIL
    assert reason in found.reason


def test_only_the_rules_in_words_are_left_to_a_judge() -> None:
    assert left_open(said("see RET-7"), **POLICY).criteria == ("No promises",)
    assert left_open(said(None, {"see": "RET-7"}), **POLICY).criteria == ("No promises",)
    assert status(said("see RET-7"), **{**POLICY, "rules": []}) is Status.PASS


RETRY: dict[str, Any] = {"check": "retry_discipline", "criteria": ["Each retry had a reason"], "threshold": 0.5}


def test_retries_are_counted_first_and_judged_only_where_there_were_any() -> None:
    book = Book().call("look", status="error").call("look").answer("done")
    assert left_open(list(book.end(retries={"look": 1})), **RETRY) == Open(
        "How the agent retried tool calls: whether there was a reason to, and what it changed.",
        ("Each retry had a reason",),
        0.5,
    )
    assert status(said("done"), **RETRY) is Status.PASS
    assert status(Book().call("look").answer("x").end(retries={"look": 3}), **RETRY) is Status.FAIL
    assert status(Book().call("look").answer("x").end(retries={"look": 1}), check="retry_discipline") is Status.PASS
    crashed = Book().call("look").end(End.CRASHED, retries={"look": 1})
    assert status(crashed, **RETRY) is Status.NOT_APPLICABLE

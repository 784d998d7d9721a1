"""factual_consistency and contradiction_detection: values against tool results, and an answer against itself."""

from __future__ import annotations

from typing import Any

import pytest

from harness.domain.events import Event
from harness.domain.verdict import Status
from tests.unit.scoring.journals import Book, judge, said, status

ORDER = {
    "order": {"id": "LK-1047", "status": "shipped", "total_eur": 1249.5, "refundable": True, "date": "2026-03-14"},
    "items": [{"name": "Tent", "price": 800}, {"name": "Stove", "price": 449.5}],
    "policy": "You have 60 days. Restocking fee: 15 EUR.",
}


def told(text: str | None = None, data: Any = None, content: Any = ORDER) -> list[Event]:
    return Book().call("look", content=content).answer(text, data).end()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Status: shipped. Total EUR: 1,249.50.", Status.PASS),
        ("Status: delivered.", Status.FAIL),
        ("The total EUR is 1249.5.", Status.PASS),
        ("The total EUR is 1250.", Status.FAIL),
        ("You have 60 days.", Status.PASS),
        ("It is a 60-day window.", Status.PASS),
        ("You have 30 days.", Status.FAIL),
        ("You have thirty days.", Status.FAIL),
        ("The restocking fee is 15 EUR.", Status.PASS),
        ("The restocking fee is 20 EUR.", Status.FAIL),
        ("The fee is not 20 EUR.", Status.NOT_APPLICABLE),
        ("Price: 800, price: 449.50", Status.PASS),
        ("Price: 900", Status.FAIL),
        ("Date: 2026-03-14", Status.PASS),
        ("Date: 2026-03-15", Status.FAIL),
        ("Refundable: yes", Status.PASS),
        ("Refundable: no", Status.FAIL),
        ("All is well.", Status.NOT_APPLICABLE),
        ("Colour: red", Status.NOT_APPLICABLE),
    ],
)
def test_a_statement_is_held_against_the_fields_of_its_name(text: str, expected: Status) -> None:
    assert status(told(text), check="factual_consistency") is expected


@pytest.mark.parametrize(
    ("data", "share"),
    [
        ({"status": "shipped", "total_eur": 1249.5}, 1.0),
        ({"status": "shipped", "total_eur": 1249}, 0.5),
        ({"order": {"refundable": False}}, 0.0),
        ({"lines": [{"price": 800}, {"price": 801}]}, 0.5),
        ({"totalEur": 1249.50}, 1.0),
    ],
)
def test_data_is_held_against_them_too_and_the_value_is_the_share_that_agrees(data: Any, share: float) -> None:
    found = judge(told(None, data), check="factual_consistency")
    assert (found.value, found.threshold) == (share, 1.0)
    assert found.status is (Status.PASS if share == 1.0 else Status.FAIL)
    if share:
        assert status(told(None, data), check="factual_consistency", threshold=share) is Status.PASS


def test_the_reason_tells_both_and_what_the_user_said_is_no_error_of_the_agent() -> None:
    found = judge(told("You have 30 days."), check="factual_consistency")
    assert "'You have 30 days', not 'You have 60 days'" in found.reason
    assert found.evidence == (3, 4)
    bought = {"input": "I bought it 30 days ago."}
    assert (
        status(told("You bought it 30 days ago and have 60 days."), bought, check="factual_consistency") is Status.PASS
    )


@pytest.mark.parametrize(
    "text",
    [
        "It can be returned. It cannot be returned.",
        "The order is refundable, but the order isn't refundable.",
        "The shop is open on Sunday. On Sunday the shop is never open.",
        "Total: 50. Shipping is free. Total: 60.",
        "The total is 50 EUR. So the total is 60 EUR.",
        "Status: shipped\nStatus: lost",
    ],
)
def test_saying_both_is_a_contradiction(text: str) -> None:
    found = judge(said(text), check="contradiction_detection")
    assert (found.status, found.value) == (Status.FAIL, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "It can be returned. Used items cannot be returned.",
        "Is it open? It is not open.",
        "If it is open, call. It is not open.",
        "Not only the tent is wet, the tent is wet all over.",
        "Premium customers have 60 days, standard customers have 30 days.",
        "Premium window: 60. Standard window: 30.",
        "Total: 50. To repeat: the total is 50.0.",
        "Order: LK-1, total: 5\nOrder: LK-2, total: 6",
        "Status: shipped\nStatus: shipped yesterday",
        "x",
    ],
)
def test_what_can_both_be_true_is_none(text: str) -> None:
    assert status(said(text), check="contradiction_detection") is Status.PASS


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        ("The total is 50.", {"total": 50}, Status.PASS),
        ("The total is 50.", {"total": 60}, Status.FAIL),
        ("Total: 50", {"lines": [{"total": 40}, {"total": 50}]}, Status.PASS),
        ("It is refundable.", {"refundable": True}, Status.PASS),
        ("It is refundable.", {"refundable": False}, Status.FAIL),
        ("It is not refundable.", {"refundable": True}, Status.FAIL),
        (None, {"a": {"total": 1}, "b": {"total": 2}}, Status.PASS),
    ],
)
def test_text_and_data_must_not_contradict_each_other(text: Any, data: Any, expected: Status) -> None:
    assert status(said(text, data), check="contradiction_detection") is expected

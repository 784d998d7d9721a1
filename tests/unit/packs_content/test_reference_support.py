"""The reference agent works by what it reads: other words, other ids and other numbers than the packs' own."""

from __future__ import annotations

from typing import Any

import pytest

from harness.domain.pack import ReplyError
from tests.unit.packs_content.desk_bench import Desk, end_of, order, refundable
from tests.unit.packs_content.support_simulator import answer_of, calls_of


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("How long may premium members send things back?", "premium"),
        ("Someone on the standard tier wants to return a jacket. What is the window?", "standard"),
        ("What is the return window for Plus?", "plus"),
    ],
)
def test_a_policy_question_in_other_words_finds_its_tier(desk: Desk, text: str, tier: str) -> None:
    events = desk.run("returns-premium", text)
    assert calls_of(events) == [("policy_lookup", {"tier": tier, "topic": "returns"})]


@pytest.mark.parametrize(
    "text", ["LK-33871: has it shipped yet?", "Could you check on LK-33871 for me", "Status of LK-33871, please."]
)
def test_an_order_question_in_other_words_finds_its_order(desk: Desk, text: str) -> None:
    events = desk.run("order-tracking", text, {"order_lookup": [{"order_id": "LK-33871", "status": "lost_at_sea"}]})
    assert calls_of(events) == [("order_lookup", {"order_id": "LK-33871"})]
    assert "lost at sea" in answer_of(events)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Quote express shipping for 850 g to Germany", {"country": "DE", "weight_g": 850, "speed": "express"}),
        ("What is the postage to Japan for a 3,5 kg box?", {"country": "JP", "weight_g": 3500, "speed": "standard"}),
        ("Price to send 12 kilos to Poland by express?", {"country": "PL", "weight_g": 12000, "speed": "express"}),
    ],
)
def test_a_quote_reads_country_weight_and_speed(desk: Desk, text: str, arguments: dict[str, Any]) -> None:
    assert calls_of(desk.run("quote-portugal-kilograms", text)) == [("shipping_quote", arguments)]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("Convert 99,90 EUR into NOK.", {"amount": 99.9, "from": "EUR", "to": "NOK"}),
        ("How many dollars are 1.250,50 kronor?", {"amount": 1250.5, "from": "SEK", "to": "USD"}),
        ("What are £12 in francs?", {"amount": 12.0, "from": "GBP", "to": "CHF"}),
        ("Give me 1,000 CHF in EUR", {"amount": 1000.0, "from": "CHF", "to": "EUR"}),
    ],
)
def test_a_conversion_reads_amounts_as_people_write_them(desk: Desk, text: str, arguments: dict[str, Any]) -> None:
    assert calls_of(desk.run("convert-thousands", text)) == [("convert_currency", arguments)]


@pytest.mark.parametrize(("days", "said"), [(30, "Yes"), (31, "No"), (1, "Yes"), (400, "No")])
def test_the_window_is_judged_by_its_days(desk: Desk, days: int, said: str) -> None:
    tools = refundable(order("LK-40001", days), "standard", 30)
    text = "May the customer still send back order LK-40001? Check their tier."
    assert answer_of(desk.run("return-still-open", text, tools)).startswith(said)


@pytest.mark.parametrize(
    ("text", "amount", "reason"),
    [
        ("I would like my money back for LK-40002, you sent the wrong colour.", 154.5, "wrong_item"),
        ("Please reimburse LK-40002, the rope is torn.", 154.5, "damaged"),
        ("Refund 50 SEK of order LK-40002, it came late.", 50.0, "late"),
    ],
)
def test_a_due_refund_is_booked_exactly_once(desk: Desk, text: str, amount: float, reason: str) -> None:
    events = desk.run("refund-items-only", text, refundable(order("LK-40002", 12)))
    booked = [arguments for name, arguments in calls_of(events) if name == "issue_refund"]
    assert booked == [{"order_id": "LK-40002", "amount": amount, "currency": "SEK", "reason": reason}]
    assert "RF-8123" in answer_of(events)


def test_which_item_is_asked_and_the_other_one_refunded(desk: Desk) -> None:
    items = [
        {"sku": "CUP-1", "name": "Enamel cup", "price": 9.5, "quantity": 1},
        {"sku": "PAN-2", "name": "Camp pan", "price": 31.0, "quantity": 1},
    ]
    found = order("LK-40004", 3, items=items, items_total=40.5)
    text = "One item of LK-40004 had a dent, refund that one please."
    events = desk.run("which-item", text, refundable(found), ask=["It was the pan."])
    assert ("issue_refund", 31.0) in [(name, arguments.get("amount")) for name, arguments in calls_of(events)]


@pytest.mark.parametrize(
    "text", ["Where is my package?", "Has my order shipped?", "I am still waiting for my delivery, what is up with it?"]
)
def test_a_missing_order_id_is_asked_for(desk: Desk, text: str) -> None:
    events = desk.run("which-order", text, {"order_lookup": [{"order_id": "LK-77777", "status": "lost"}]}, ["LK-77777"])
    assert [event.kind for event in events if event.kind in ("ask", "tool_call")] == ["ask", "tool_call"]
    assert calls_of(events) == [("order_lookup", {"order_id": "LK-77777"})]


def test_an_answer_without_the_detail_is_not_guessed_over(desk: Desk) -> None:
    events = desk.run("which-order", "Where is my package?", ask=["I do not know."])
    assert calls_of(events) == []


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 2), (2, 3), (9, 3)])
def test_a_failing_look_up_is_retried_within_the_budget(desk: Desk, retries: int, calls: int) -> None:
    down = [ReplyError("UNAVAILABLE", "down")] * 9
    budget = {"max_retries_per_tool": retries}
    events = desk.run("order-tracking", "Where is LK-33871?", {"order_lookup": down}, budget=budget)
    assert len(calls_of(events)) == calls
    assert end_of(events) == "completed"
    assert "could not find out" in answer_of(events)


def test_extraction_takes_the_keys_asked_for(desk: Desk) -> None:
    text = (
        "From the text below, give me the fields email, phone and sku as structured data.\n---\n"
        "Call me on +46 8 555 01 23 about the ROPE-9, or write to bo@example.net."
    )
    assert answer_of(desk.run("extract-missing-fields", text)) == {
        "email": "bo@example.net",
        "phone": "+46 8 555 01 23",
        "sku": "ROPE-9",
    }


@pytest.mark.parametrize(
    ("message", "label"),
    [
        ("My package never arrived at all.", "delivery"),
        ("The zip of the jacket is broken.", "product_fault"),
        ("I love the tent, thanks so much!", "praise"),
        ("Thanks, but there was smoke from the lamp and I got an electric shock.", "hazard"),
        ("Your courier lost the parcel and the payment was wrong.", "billing"),
    ],
)
def test_other_messages_get_the_label_of_the_guide(desk: Desk, message: str, label: str) -> None:
    text = f"Sort this by the label guide, label only.\n---\n{message}"
    assert answer_of(desk.run("classify-double-charge", text)) == label


def test_another_misspelt_attribute_is_repaired(desk: Desk) -> None:
    error = "AttributeError: module 'shop.tax' has no attribute 'raet'. Did you mean: 'rate'?"
    failing = {"passed": 3, "failed": 1, "failures": [{"test": "t.py::t", "file": "a/b.py", "line": 2, "error": error}]}
    tools: dict[str, list[Any]] = {
        "run_tests": [failing],
        "read_file": [{"path": "a/b.py", "content": "import shop.tax\nx = shop.tax.raet * 2\n"}],
        "propose_patch": [{"patch_id": "PATCH-9"}],
    }
    events = desk.run("misspelt-name", "Our tests are failing, please mend the code.", tools)
    assert ("propose_patch", {"path": "a/b.py", "line": 2, "text": "x = shop.tax.rate * 2"}) in calls_of(events)
    assert "do not pass with it yet" in answer_of(events)

"""Scenarios of the shipped packs under other words, ids and numbers."""

from __future__ import annotations

from typing import Any

from harness.domain.events import Event
from harness.domain.pack import AskReply, ChatTurn, ReplyError, Scenario, ScenarioReplies, ToolReply
from tests.unit.packs_content.support_simulator import run_trial, varied


def replies(tools: dict[str, list[Any]] | None = None, ask: list[str] | None = None) -> ScenarioReplies:
    """Scripted replies that answer whatever the arguments: a value returns it, a ReplyError fails once."""
    scripted = {
        name: [ToolReply(error=r, times=1) if isinstance(r, ReplyError) else ToolReply(return_=r) for r in listed]
        for name, listed in (tools or {}).items()
    }
    return ScenarioReplies(ask=[AskReply(answer=text) for text in ask or []], tools=scripted)


class Desk:
    """Scenarios of the packs under other inputs and replies."""

    def __init__(self, by_id: dict[str, Scenario]) -> None:
        self._by_id = by_id

    def run(
        self,
        like: str,
        text: str | tuple[ChatTurn, ...],
        tools: dict[str, list[Any]] | None = None,
        ask: list[str] | None = None,
        budget: dict[str, int] | None = None,
    ) -> list[Event]:
        scenario = varied(self._by_id[like], input=text, replies=replies(tools, ask), budget=budget)
        return run_trial("reference-support", scenario)


def end_of(events: list[Event]) -> str:
    return str(events[-1].data["end"])


def order(order_id: str, days: int, **more: Any) -> dict[str, Any]:
    base = {
        "order_id": order_id,
        "status": "delivered",
        "days_since_delivery": days,
        "customer_email": "ida@example.net",
        "items": [{"sku": "ROPE-9", "name": "Klatter rope", "price": 77.25, "quantity": 2}],
        "items_total": 154.5,
        "shipping_paid": 6.0,
        "currency": "SEK",
        "refunded": False,
    }
    return {**base, **more}


def refundable(found: dict[str, Any], tier: str = "plus", window: int = 45) -> dict[str, list[Any]]:
    return {
        "order_lookup": [found],
        "customer_lookup": [{"email": "ida@example.net", "tier": tier}],
        "policy_lookup": [{"tier": tier, "topic": "returns", "window_days": window}],
        "issue_refund": [{"refund_id": "RF-8123", "status": "booked"}],
    }

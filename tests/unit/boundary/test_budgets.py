"""The ledger: each budget alone, at its boundary, beside another, and after the end."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.budgets import Kind, Ledger
from harness.domain.limits import Budget
from harness.domain.outcome import Breach, End, Usage
from harness.errors import PackFault, UpstreamError

KINDS: list[Kind] = ["tool_call", "model_call", "ask"]
OWN = {"tool_call": "max_tool_calls", "model_call": "max_model_calls", "ask": "max_asks"}


def detail(breach: Breach | None) -> dict[str, Any]:
    assert breach is not None
    assert breach.end is End.BUDGET_EXCEEDED
    return breach.detail


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_limit_of_n_allows_n_calls_of_its_kind_and_refuses_the_next(kind: Kind, limit: int) -> None:
    ledger = Ledger(Budget(**{OWN[kind]: limit}))
    assert [ledger.charge(kind) for _ in range(limit)] == [None] * limit
    breach = ledger.charge(kind)
    assert detail(breach) == {"budget": OWN[kind], "limit": limit, "count": limit + 1}
    assert breach is not None
    assert OWN[kind] in breach.reason
    assert ledger.snapshot()["steps"] == limit


@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_of_one_kind_does_not_bind_the_others(kind: Kind) -> None:
    ledger = Ledger(Budget(**{OWN[kind]: 0}))
    assert [ledger.charge(other) for other in KINDS if other != kind] == [None, None]


def test_steps_count_every_kind() -> None:
    ledger = Ledger(Budget(max_steps=3))
    assert [ledger.charge(kind) for kind in KINDS] == [None] * 3
    assert detail(ledger.charge("ask")) == {"budget": "max_steps", "limit": 3, "count": 4}


@pytest.mark.parametrize("kind", KINDS)
def test_the_more_specific_budget_is_named_where_both_are_crossed(kind: Kind) -> None:
    ledger = Ledger(Budget(max_steps=1, **{OWN[kind]: 1}))
    assert ledger.charge(kind) is None
    assert detail(ledger.charge(kind))["budget"] == OWN[kind]


def test_tokens_may_reach_their_limit_and_not_pass_it() -> None:
    ledger = Ledger(Budget(max_tokens=10))
    assert ledger.settle(10, None) is None
    assert detail(ledger.settle(1, None)) == {"budget": "max_tokens", "limit": 10, "count": 11}
    assert ledger.snapshot()["tokens"] == 11


def test_cost_may_reach_its_limit_in_pieces_that_floats_cannot_add() -> None:
    ledger = Ledger(Budget(max_cost_usd=0.3))
    assert [ledger.settle(0, 0.1) for _ in range(3)] == [None] * 3
    assert detail(ledger.settle(0, 0.0001)) == {"budget": "max_cost_usd", "limit": 0.3, "count": 0.3001}


def test_tokens_are_named_before_cost() -> None:
    assert detail(Ledger(Budget(max_tokens=1, max_cost_usd=0.1)).settle(2, 1.0))["budget"] == "max_tokens"


def test_an_unknown_price_is_the_packs_fault_under_a_cost_budget_and_flagged_without_one() -> None:
    with pytest.raises(PackFault, match="price"):
        Ledger(Budget(max_cost_usd=1.0)).settle(1, None)
    ledger = Ledger(Budget())
    assert ledger.settle(1, None) is None
    assert ledger.snapshot()["cost_known"] is False


@pytest.mark.parametrize(("tokens", "cost"), [(-1, 0.0), (1, -0.1), (1, math.nan), (1, math.inf)])
def test_impossible_usage_is_the_upstreams_fault_and_not_booked(tokens: int, cost: float) -> None:
    ledger = Ledger(Budget(max_cost_usd=1.0))
    with pytest.raises(UpstreamError):
        ledger.settle(tokens, cost)
    assert ledger.snapshot() == Ledger(Budget()).snapshot()


def test_nothing_moves_after_freeze() -> None:
    ledger = Ledger(Budget(max_tokens=5))
    ledger.charge("tool_call")
    before = ledger.snapshot()
    ledger.freeze()
    for kind in KINDS:
        breach = ledger.charge(kind)
        assert breach is not None
        assert breach.end is End.CANCELLED
    assert ledger.settle(100, 1.0) is None
    assert ledger.snapshot() == before


def test_the_snapshot_holds_fields_of_usage() -> None:
    ledger = Ledger(Budget())
    ledger.charge("ask")
    ledger.settle(7, 0.5)
    assert Usage(**ledger.snapshot()) == Usage(steps=1, asks=1, tokens=7, cost_usd=0.5)


limits = st.none() | st.integers(0, 5)


@given(limits, limits, limits, st.none() | st.integers(1, 8), st.lists(st.sampled_from(KINDS), max_size=30))
def test_the_ledger_never_exceeds_a_count(
    tools: int | None, models: int | None, asks: int | None, steps: int | None, calls: list[Kind]
) -> None:
    budget = Budget(max_tool_calls=tools, max_model_calls=models, max_asks=asks, max_steps=steps)
    ledger = Ledger(budget)
    allowed = 0
    for kind in calls:
        breach = ledger.charge(kind)
        allowed += breach is None
        if breach is not None:
            assert breach.detail["count"] == breach.detail["limit"] + 1
    used = ledger.snapshot()
    assert used["steps"] == allowed == used["tool_calls"] + used["model_calls"] + used["asks"]
    for name in ("steps", "tool_calls", "model_calls", "asks"):
        limit = getattr(budget, f"max_{name}")
        assert limit is None or used[name] <= limit

"""What model calls set aside: calls side by side never use more than the budget, and none is refused on a guess."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.budgets import Ledger
from harness.domain.limits import Budget
from harness.domain.outcome import Breach, End
from harness.errors import PackFault
from harness.ports import Estimate, Grant

MICRO = 1e-6


def most(into: int, out: int | None = None, usd_in: float | None = None, usd_out: float | None = None) -> Estimate:
    return Estimate(into, out, usd_in, usd_out)


def test_without_a_limit_every_call_goes_as_it_is() -> None:
    ledger = Ledger(Budget())
    assert [ledger.reserve(str(number), most(10**9)) for number in range(3)] == [Grant()] * 3


def test_a_call_that_fits_goes_uncut_and_one_that_fits_only_alone_waits() -> None:
    ledger = Ledger(Budget(max_tokens=100))
    assert ledger.reserve("a", most(10, 50)) == Grant()
    assert ledger.reserve("b", most(10, 30)) == Grant()
    assert ledger.reserve("c", most(1)) is None
    assert ledger.settle(15, None, "a") is None
    assert ledger.reserve("c", most(10, 35)) == Grant()


def test_alone_a_call_is_granted_what_is_left() -> None:
    ledger = Ledger(Budget(max_tokens=100))
    assert ledger.reserve("a", most(40)) == Grant(60)
    assert ledger.settle(90, None, "a") is None
    assert ledger.reserve("b", most(40, 200)) == Grant(1)


def test_a_guess_ends_no_trial_and_what_was_really_used_does() -> None:
    ledger = Ledger(Budget(max_tokens=100))
    assert ledger.reserve("a", most(1000)) == Grant(1)
    assert ledger.settle(99, None, "a") is None
    ledger.reserve("b", most(1000))
    breach = ledger.settle(2, None, "b")
    assert breach is not None
    assert breach.detail == {"budget": "max_tokens", "limit": 100, "count": 101}


def test_a_budget_that_is_used_up_refuses_the_next_call_before_it_is_made() -> None:
    ledger = Ledger(Budget(max_tokens=100))
    ledger.settle(100, None)
    breach = ledger.reserve("a", most(1, 1))
    assert isinstance(breach, Breach)
    assert (breach.end, breach.detail) == (End.BUDGET_EXCEEDED, {"budget": "max_tokens", "limit": 100, "count": 100})


def test_money_is_set_aside_by_the_models_price() -> None:
    ledger = Ledger(Budget(max_cost_usd=0.001))
    assert ledger.reserve("a", most(100, 50, 1 * MICRO, 10 * MICRO)) == Grant()
    assert ledger.reserve("b", most(100, 50, 1 * MICRO, 10 * MICRO)) is None
    assert ledger.settle(0, 0.0, "a") is None
    assert ledger.reserve("b", most(100, None, 1 * MICRO, 10 * MICRO)) == Grant(90)


def test_what_costs_nothing_is_not_held_up_by_money() -> None:
    ledger = Ledger(Budget(max_cost_usd=0.001))
    ledger.settle(0, 0.001)
    assert ledger.reserve("a", most(10**6, None, 0.0, 0.0)) == Grant()


def test_a_price_nobody_knows_is_the_packs_trouble_before_anything_is_spent() -> None:
    with pytest.raises(PackFault, match="price"):
        Ledger(Budget(max_cost_usd=1.0)).reserve("a", most(1, 1))


def test_after_the_end_nothing_is_granted() -> None:
    ledger = Ledger(Budget())
    ledger.freeze()
    assert isinstance(ledger.reserve("a", most(1)), Breach)


CALL = st.fixed_dictionaries(
    {
        "into": st.integers(0, 60),
        "asked": st.none() | st.integers(0, 80),
        "used": st.floats(0, 1),
        "land_after": st.integers(0, 4),
    }
)
PRICE = st.sampled_from([0.0, 1 * MICRO, 15 * MICRO])


TOKENS = st.none() | st.integers(1, 300)
COST = st.none() | st.floats(10 * MICRO, 3000 * MICRO)


@given(st.lists(CALL, max_size=25), TOKENS, COST, PRICE, PRICE)
def test_calls_side_by_side_never_use_more_than_there_is(
    calls: list[dict[str, Any]], max_tokens: int | None, max_cost: float | None, usd_in: float, usd_out: float
) -> None:
    """Whatever comes when: where estimates of what is sent hold, only a lone call's question is too much."""
    budget = Budget(max_tokens=max_tokens, max_cost_usd=max_cost)
    ledger = Ledger(budget)
    line = list(enumerate(calls))
    flying: list[tuple[int, str, int, int]] = []
    tokens, cost, at_once, last_alone = 0, 0.0, 0, False
    ended: Breach | None = None
    while (line or flying) and ended is None:
        while line:
            number, call = line[0]
            grant = ledger.reserve(str(number), most(call["into"], call["asked"], usd_in, usd_out))
            if grant is None:
                assert flying, "a call waits for nobody"
                break
            if isinstance(grant, Breach):
                ended = grant
                break
            line.pop(0)
            limit = grant.output_tokens if grant.output_tokens is not None else call["asked"]
            out = int((80 if limit is None else limit) * call["used"])
            last_alone = grant.output_tokens == 1
            flying.append((call["land_after"], str(number), call["into"], out))
            at_once = max(at_once, len(flying))
        if flying and ended is None:
            flying.sort()
            _, ident, into, out = flying.pop(0)
            tokens += into + out
            cost += into * usd_in + out * usd_out
            ended = ledger.settle(into + out, into * usd_in + out * usd_out, ident)
            if ended is None:
                assert max_tokens is None or tokens <= max_tokens
                assert max_cost is None or cost <= max_cost * (1 + 1e-9)
            else:
                assert last_alone, "only a call whose question alone was too much may go over"
                assert not flying, "and it is alone"
    assert ledger.snapshot()["tokens"] == tokens
    assert math.isclose(ledger.snapshot()["cost_usd"], cost, rel_tol=1e-9, abs_tol=1e-12)

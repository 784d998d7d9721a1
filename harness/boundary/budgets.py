"""The ledger of one trial: what it used of its budget, counted before anything is answered."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Literal

from harness.domain.limits import Budget
from harness.domain.outcome import Breach, End
from harness.errors import PackFault, UpstreamError

Kind = Literal["tool_call", "model_call", "ask"]
_COUNTERS: dict[Kind, str] = {"tool_call": "tool_calls", "model_call": "model_calls", "ask": "asks"}


class Ledger:
    """A limit of N allows N. Where one call crosses several, the more specific budget is named, then `max_steps`."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._counts = {"steps": 0, "tool_calls": 0, "model_calls": 0, "asks": 0}
        self._tokens = 0
        # Decimal, so that three calls of 0.1 stay within 0.3.
        self._cost = Decimal(0)
        self._cost_known = True
        self._frozen = False

    def charge(self, kind: Kind) -> Breach | None:
        """Count one call, before its reply; a call that would exceed a budget is refused and not counted."""
        if self._frozen:
            return Breach(End.CANCELLED, f"the trial is over: a {kind} after it is refused", {"frozen": True})
        wanted = {name: self._counts[name] + 1 for name in (_COUNTERS[kind], "steps")}
        for name, count in wanted.items():
            limit = getattr(self._budget, f"max_{name}")
            if limit is not None and count > limit:
                return _exceeded(f"max_{name}", limit, count)
        self._counts.update(wanted)
        return None

    def settle(self, tokens: int, cost_usd: float | None) -> Breach | None:
        """Book what a model call used: tokens in and out, US dollars (None: price unknown).

        What was spent is booked even where it exceeds; tokens are named before cost. PackFault where the
        price is unknown and `max_cost_usd` is set, as an unknown price is never 0; UpstreamError for numbers
        that cannot be.
        """
        if self._frozen:
            return None
        if tokens < 0 or (cost_usd is not None and not (math.isfinite(cost_usd) and cost_usd >= 0)):
            raise UpstreamError(f"a model call reports {tokens} tokens and {cost_usd} USD, which cannot be")
        self._tokens += tokens
        if cost_usd is None:
            self._cost_known = False
        else:
            self._cost += Decimal(repr(float(cost_usd)))
        return self._spent()

    def _spent(self) -> Breach | None:
        budget = self._budget
        if budget.max_tokens is not None and self._tokens > budget.max_tokens:
            return _exceeded("max_tokens", budget.max_tokens, self._tokens)
        if budget.max_cost_usd is None:
            return None
        if not self._cost_known:
            raise PackFault(
                "max_cost_usd is set, but the price of a model call is unknown",
                "give scripted turns a cost_usd, or the model a price, or drop max_cost_usd",
            )
        if self._cost > Decimal(repr(float(budget.max_cost_usd))):
            return _exceeded("max_cost_usd", budget.max_cost_usd, float(self._cost))
        return None

    def freeze(self) -> None:
        """After `cancel` nothing moves: every charge is refused, nothing is booked."""
        self._frozen = True

    def snapshot(self) -> dict[str, Any]:
        """The fields of `harness.domain.outcome.Usage` that are counted here."""
        return {**self._counts, "tokens": self._tokens, "cost_usd": float(self._cost), "cost_known": self._cost_known}


def _exceeded(budget: str, limit: float, count: float) -> Breach:
    detail = {"budget": budget, "limit": limit, "count": count}
    return Breach(End.BUDGET_EXCEEDED, f"{budget} is {limit}, and {count} was reached", detail)

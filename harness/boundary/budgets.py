"""The ledger of one trial: what it used of its budget, counted before anything is answered."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from harness.domain.limits import Budget
from harness.domain.outcome import Breach, End
from harness.errors import PackFault, UpstreamError
from harness.ports import Estimate, Grant

Kind = Literal["tool_call", "model_call", "ask"]
_COUNTERS: dict[Kind, str] = {"tool_call": "tool_calls", "model_call": "model_calls", "ask": "asks"}


class _Left(NamedTuple):
    """What is left of one budget, and what a token in and out takes of it."""

    budget: str
    limit: float
    spent: Decimal
    reserved: Decimal
    per_in: Decimal
    per_out: Decimal

    @property
    def left(self) -> Decimal:
        return _decimal(self.limit) - self.spent - self.reserved

    def room(self, into: int) -> int | None:
        """The most tokens out that fit beside `into` tokens in; -1: not even those fit; None: any number does."""
        left = self.left - into * self.per_in
        if left < 0:
            return -1
        return None if self.per_out == 0 else int(left // self.per_out)


class Ledger:
    """A limit of N allows N. Where one call crosses several, the more specific budget is named, then `max_steps`."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._counts = {"steps": 0, "tool_calls": 0, "model_calls": 0, "asks": 0}
        self._tokens = 0
        # Decimal, so that three calls of 0.1 stay within 0.3.
        self._cost = Decimal(0)
        self._cost_known = True
        self._reserved: dict[str, tuple[Decimal, Decimal]] = {}
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

    def reserve(self, ident: str, most: Estimate) -> Grant | Breach | None:
        """Set aside what a call may take of `max_tokens` and `max_cost_usd`, until `settle`.

        While others have something set aside, a call that does not fit beside them waits (None), as they may take less.
        Alone, it is granted what is left: an estimate never ends a trial, only what was really used does. PackFault
        where the price is unknown and `max_cost_usd` is set.
        """
        if self._frozen:
            return Breach(End.CANCELLED, "the trial is over: a model_call after it is refused", {"frozen": True})
        lefts = tuple(self._lefts(most))
        rooms = [room for left in lefts if (room := left.room(most.input_tokens)) is not None]
        room = min(rooms, default=None)
        if room is None or (most.output_tokens is not None and most.output_tokens <= room):
            self._set_aside(ident, most.input_tokens, most.output_tokens or 0, lefts)
            return Grant()
        if self._reserved:
            return None
        for left in lefts:
            if left.left <= 0:
                return _exceeded(left.budget, left.limit, _number(left.spent))
        granted = max(1, room)
        self._set_aside(ident, most.input_tokens, granted, lefts)
        return Grant(granted)

    def _lefts(self, most: Estimate) -> Iterator[_Left]:
        budget = self._budget
        tokens = sum((tokens for tokens, _ in self._reserved.values()), Decimal(0))
        cost = sum((cost for _, cost in self._reserved.values()), Decimal(0))
        if budget.max_tokens is not None:
            yield _Left("max_tokens", budget.max_tokens, Decimal(self._tokens), tokens, Decimal(1), Decimal(1))
        if budget.max_cost_usd is not None:
            if most.usd_in is None or most.usd_out is None:
                raise _no_price()
            prices = _decimal(most.usd_in), _decimal(most.usd_out)
            if any(prices):
                yield _Left("max_cost_usd", budget.max_cost_usd, self._cost, cost, *prices)

    def _set_aside(self, ident: str, into: int, out: int, lefts: tuple[_Left, ...]) -> None:
        taken = {left.budget: into * left.per_in + out * left.per_out for left in lefts}
        self._reserved[ident] = (taken.get("max_tokens", Decimal(0)), taken.get("max_cost_usd", Decimal(0)))

    def settle(self, tokens: int, cost_usd: float | None, ident: str = "") -> Breach | None:
        """Book what a model call used: tokens in and out, US dollars (None: price unknown), for what was reserved.

        What was spent is booked even where it exceeds; tokens are named before cost. PackFault where the
        price is unknown and `max_cost_usd` is set, as an unknown price is never 0; UpstreamError for numbers
        that cannot be.
        """
        if self._frozen:
            return None
        self._reserved.pop(ident, None)
        if tokens < 0 or (cost_usd is not None and not (math.isfinite(cost_usd) and cost_usd >= 0)):
            raise UpstreamError(f"a model call reports {tokens} tokens and {cost_usd} USD, which cannot be")
        self._tokens += tokens
        if cost_usd is None:
            self._cost_known = False
        else:
            self._cost += _decimal(cost_usd)
        return self._spent()

    def _spent(self) -> Breach | None:
        budget = self._budget
        if budget.max_tokens is not None and self._tokens > budget.max_tokens:
            return _exceeded("max_tokens", budget.max_tokens, self._tokens)
        if budget.max_cost_usd is None:
            return None
        if not self._cost_known:
            raise _no_price()
        if self._cost > _decimal(budget.max_cost_usd):
            return _exceeded("max_cost_usd", budget.max_cost_usd, float(self._cost))
        return None

    def freeze(self) -> None:
        """After `cancel` nothing moves: every charge is refused, nothing is booked."""
        self._frozen = True

    def snapshot(self) -> dict[str, Any]:
        """The fields of `harness.domain.outcome.Usage` that are counted here."""
        return {**self._counts, "tokens": self._tokens, "cost_usd": float(self._cost), "cost_known": self._cost_known}


def _decimal(number: float) -> Decimal:
    """As it is written, so that 0.1 is a tenth."""
    return Decimal(repr(float(number)))


def _number(value: Decimal) -> int | float:
    return int(value) if value == int(value) else float(value)


def _no_price() -> PackFault:
    return PackFault(
        "max_cost_usd is set, but the price of a model call is unknown",
        "give scripted turns a cost_usd, or the model a price (--prices), or drop max_cost_usd",
    )


def _exceeded(budget: str, limit: float, count: float) -> Breach:
    detail = {"budget": budget, "limit": limit, "count": count}
    return Breach(End.BUDGET_EXCEEDED, f"{budget} is {limit}, and {count} was reached", detail)

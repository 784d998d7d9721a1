"""What judging may spend: reserved before a call by the most it can take, settled after it by what it took."""

from __future__ import annotations

import anyio
from msgspec import Struct

from harness.domain.judge import JudgeSettings
from harness.errors import UsageError


class Tokens(Struct, frozen=True):
    """Tokens of one call, in and out."""

    into: int
    out: int


class Purse:
    """One for all calls of a judge. Of calls whose use is not known, the reserve counts as spent."""

    def __init__(self, settings: JudgeSettings) -> None:
        """Raises UsageError where the cost has a limit but the prices are not known."""
        prices = (settings.usd_per_mtok_in, settings.usd_per_mtok_out)
        if settings.max_cost_usd is not None and None in prices:
            raise UsageError(
                "max_cost_usd cannot be kept: what the judge's tokens cost is not known",
                "give usd_per_mtok_in and usd_per_mtok_out too, or limit max_tokens",
            )
        self._settings = settings
        self._calls = 0
        self._tokens = 0
        self._cost = 0.0
        self._flying = 0
        self._landed: anyio.Event | None = None

    async def reserve(self, most: Tokens) -> str | None:
        """None once the call fits, which `settle` must then follow; else which limit is spent.

        While others are under way, what they have reserved may come back: it waits for them before it says no.
        """
        while spent := self._spent(most):
            if not self._flying:
                return spent
            self._landed = self._landed or anyio.Event()
            await self._landed.wait()
        self._flying += 1
        self._add(1, most)
        return None

    def settle(self, most: Tokens, used: Tokens | None) -> None:
        """The call reserved with `most` is over and took `used`; None: nobody knows."""
        self._flying -= 1
        if used is not None:
            self._add(0, Tokens(used.into - most.into, used.out - most.out))
        if self._landed is not None:
            self._landed.set()
            self._landed = None

    def cost(self, used: Tokens) -> float | None:
        """US dollars; None where a price is not known."""
        into, out = self._settings.usd_per_mtok_in, self._settings.usd_per_mtok_out
        return None if into is None or out is None else (used.into * into + used.out * out) / 1_000_000

    def _add(self, calls: int, tokens: Tokens) -> None:
        self._calls += calls
        self._tokens += tokens.into + tokens.out
        self._cost += self.cost(tokens) or 0.0

    def _spent(self, most: Tokens) -> str | None:
        limits = self._settings
        wanted = (
            ("max_calls", limits.max_calls, self._calls + 1),
            ("max_tokens", limits.max_tokens, self._tokens + most.into + most.out),
            ("max_cost_usd", limits.max_cost_usd, self._cost + (self.cost(most) or 0.0)),
        )
        over = next((f"{name}={limit:g}" for name, limit, sum_ in wanted if limit is not None and sum_ > limit), None)
        return f"the judge's {over} is spent, or would be by one more call" if over else None

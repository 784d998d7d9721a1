"""What a whole run may spend on its agents' models: set aside before a call, settled after it."""

from __future__ import annotations

import anyio

from harness.errors import SpendLimit

_REMEDY = "raise max_cost_usd (--model-set), and go on with --resume"


class Purse:
    """One for all trials of a run; `limit` in US dollars, None: no limit."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._spent = 0.0
        self._flying = 0
        self._landed = anyio.Event()

    async def reserve(self, most: float | None, model: str) -> float:
        """Set `most` aside once it fits, and give it; `settle` must follow. Raises SpendLimit where it never will.

        While others are under way, what they have set aside may come back: it waits for them before it says no.
        """
        if self._limit is None:
            return 0.0
        if most is None:
            raise SpendLimit(f"max_cost_usd is set for the run, but the price of {model} is unknown", "give --prices")
        while self._spent + most > self._limit:
            if not self._flying:
                said = f"the run's max_cost_usd of {self._limit:g} is spent, or would be by one more call"
                raise SpendLimit(f"{said} ({self._spent:.4g} USD so far)", _REMEDY)
            await self._landed.wait()
        self._flying += 1
        self._spent += most
        return most

    def settle(self, reserved: float, used: float | None) -> None:
        """The call is over; None: nobody knows what it cost, so that what was set aside counts."""
        if self._limit is None:
            return
        self._flying -= 1
        self._spent += 0.0 if used is None else used - reserved
        self._landed.set()
        self._landed = anyio.Event()

"""The scripted user who answers an agent's questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.domain.pack import AskReply
from harness.domain.patterns import found
from harness.errors import PackFault

NOTHING_TO_ADD = "I have nothing to add."
"""Said where no reply fits: how an agent words a question, or that it asks at all, is no mistake of the pack."""


class ScriptedUser:
    """The user of one trial (a `harness.ports.User`): says the first reply that fits and is not used up.

    Where there is none, NOTHING_TO_ADD. `substitute` puts this trial's canaries into a JSON value.
    """

    def __init__(self, replies: Sequence[AskReply], substitute: Callable[[Any], Any] = lambda value: value) -> None:
        self._replies = replies
        self._used = [0] * len(replies)
        self._substitute = substitute

    def answer(self, question: str) -> str:
        """PackFault only for a `when` that is no usable pattern."""
        for index, reply in enumerate(self._replies):
            if (reply.times is None or self._used[index] < reply.times) and _fits(reply, question):
                self._used[index] += 1
                return str(self._substitute(reply.answer))
        return NOTHING_TO_ADD


def _fits(reply: AskReply, question: str) -> bool:
    try:
        return reply.when is None or found(reply.when, question)
    except ValueError as err:
        raise PackFault(f"a reply to `ask` cannot be used: {err}", "correct its `when`") from err

"""Which model answers to which name."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from harness.domain.model import NameRule

_GLOB = frozenset("*?[")


class Names:
    """The first rule that fits decides; else `fixed`, where a chat is asked for; else the name as it was asked for.

    An embedding is never asked of the `fixed` model unless a rule says so: models for chat give none.
    """

    def __init__(self, rules: Sequence[NameRule], fixed: str = "") -> None:
        self._rules = rules
        self._fixed = fixed

    def used(self, asked: str, chat: bool = True) -> str:
        """The name to use; "" where none was asked for and none is set."""
        rule = next((rule for rule in self._rules if fnmatchcase(asked, rule.asked)), None)
        if rule is not None:
            return rule.used
        return self._fixed if chat and self._fixed else asked

    @property
    def listed(self) -> tuple[str, ...]:
        """Names to ask for, as far as they can be told; none where every name is passed on."""
        plain = [rule.asked for rule in self._rules if not _GLOB & set(rule.asked)]
        return tuple(dict.fromkeys([*plain, self._fixed])) if self._fixed else tuple(plain)

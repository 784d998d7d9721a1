"""Whether arguments are what a scripted reply waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from harness.domain.patterns import found

Match = Literal["subset", "exact", "regex"]


def matches(when: Mapping[str, Any] | None, arguments: Mapping[str, Any], how: Match = "subset") -> bool:
    """True where `arguments` satisfy `when`; None is satisfied by all.

    subset: each named key is there and its value holds, recursively; lists are as long, and hold item by item.
    exact: the two are equal. regex: as subset, but a string in `when` is a pattern to be found in a string.
    Numbers compare by value (1 == 1.0), and a boolean is no number. ValueError for a pattern that cannot be used.
    """
    return when is None or _holds(when, arguments, how)


def _holds(wanted: Any, given: Any, how: Match) -> bool:
    if isinstance(wanted, Mapping):
        if not isinstance(given, Mapping) or (how == "exact" and len(wanted) != len(given)):
            return False
        return all(key in given and _holds(item, given[key], how) for key, item in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(given, list | tuple) or len(wanted) != len(given):
            return False
        return all(_holds(item, other, how) for item, other in zip(wanted, given, strict=True))
    if how == "regex" and isinstance(wanted, str):
        return isinstance(given, str) and found(wanted, given)
    return isinstance(wanted, bool) == isinstance(given, bool) and bool(wanted == given)

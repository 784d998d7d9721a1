"""Comparing and showing JSON values: equality, subsets, dotted paths, and quoting what came from outside."""

from __future__ import annotations

import reprlib
from typing import Any

from msgspec import UNSET, UnsetType

QUOTE_LIMIT = 120
TEXT_LIMIT = 400


def same(left: Any, right: Any) -> bool:
    """Deep JSON equality: 1 equals 1.0, True is not 1, order counts in lists only."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def holds(part: Any, whole: Any) -> bool:
    """`part` is a recursive subset of `whole`: extra keys are free in objects, lists match item by item."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and holds(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(holds, part, whole))
    return same(part, whole)


def look_up(value: Any, path: str) -> Any | UnsetType:
    """The value at a dotted path (`order.items.0.id`); a key spelled with its dots wins. UNSET: not there."""
    if isinstance(value, dict) and path in value:
        return value[path]
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return UNSET
    return value


class _Short(reprlib.Repr):
    """repr that never builds more than it shows, whatever the size of the value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = QUOTE_LIMIT
        self.maxlevel = 4


_SHORT = _Short()


def quote(value: Any) -> str:
    """Any JSON value on one line of at most QUOTE_LIMIT characters, control characters escaped."""
    try:
        shown = _SHORT.repr(value)
    except ValueError:
        # CPython refuses to print integers of more than 4300 digits.
        return f"<a {type(value).__name__} too long to show>"
    return shown if len(shown) <= QUOTE_LIMIT else shown[: QUOTE_LIMIT - 3] + "..."


def plain(text: str) -> str:
    """Prose that may hold outside text: one line of at most TEXT_LIMIT characters, unprintables escaped."""
    cut = text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 3] + "..."
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)

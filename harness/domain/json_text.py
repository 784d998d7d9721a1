"""Walking the strings of a JSON value: in document order, and put back where they stood."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Path = tuple[str, ...]
"""Where a string stands: keys, with every list index written `[]`, so that the parts of a list share a path."""


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each string value with its path, in document order; keys are not among them."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item, (*path, "[]"))


def keys(value: Any) -> Iterator[str]:
    """Each key of each object, in document order."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from keys(item)


def texts(value: Any) -> Iterator[str]:
    """Each string value, then each key."""
    yield from (text for _, text in leaves(value))
    yield from keys(value)


def scalars(value: Any) -> Iterator[str]:
    """The text of each number in the value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from scalars(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def map_text(value: Any, text: Callable[[str], str], number: Callable[[int | float], Any] | None = None) -> Any:
    """`value` with `text` applied to each string and key, `number` to each number.

    Keys that become equal are kept apart by `#2`, `#3`, ... so that nothing is lost.
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        mapped: dict[str, Any] = {}
        for key, item in value.items():
            name = text(str(key))
            unique, count = name, 1
            while unique in mapped:
                count += 1
                unique = f"{name}#{count}"
            mapped[unique] = map_text(item, text, number)
        return mapped
    if isinstance(value, list | tuple):
        return [map_text(item, text, number) for item in value]
    if number is not None and isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return value


def replace_leaves(value: Any, texts: Iterator[str]) -> Any:
    """`value` with its string values replaced, in document order, by those of `texts`; keys stay."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, Mapping):
        return {key: replace_leaves(item, texts) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_leaves(item, texts) for item in value]
    return value

"""Values that remember where they were written, and the bounds on how many of them a file may hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from msgspec import Struct, field

from harness.domain.pack import Problem
from harness.errors import PackError

MAX_NODES = 200_000
"""Values in one file, aliases counted as often as they are used: what a bomb of aliases runs into."""
MAX_DEPTH = 64


class Mark(NamedTuple):
    """A place in a file; line and column from 1."""

    file: str
    line: int
    column: int

    def problem(self, message: str) -> Problem:
        return Problem(self.file, self.line, self.column, message)


class Absent:
    """The data of a node that is not there."""


class Node(Struct):
    """A value with its place. `fields` (name -> place of the key, value) for a mapping, `items` for a list.

    Both are empty for everything else, so that rules can walk a pack of any shape without asking first.
    """

    mark: Mark
    data: Any
    fields: dict[str, tuple[Mark, Node]] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    size: int = 1
    height: int = 1

    def get(self, name: str) -> Node:
        """The value of a key, or a node whose data is `Absent`, standing where this one stands."""
        return self.fields[name][1] if name in self.fields else Node(self.mark, Absent)

    def key(self, name: str) -> Mark:
        """Where a key is written; where the mapping starts if it has no such key."""
        return self.fields[name][0] if name in self.fields else self.mark

    @property
    def exists(self) -> bool:
        return self.data is not Absent

    @property
    def text(self) -> str | None:
        """The value where it is text, else None."""
        return self.data if isinstance(self.data, str) else None

    def locate(self, path: Sequence[str | int]) -> Node:
        """The node at the end of `path`, or the nearest one above it."""
        node = self
        for step in path:
            if isinstance(step, str) and step in node.fields:
                node = node.fields[step][1]
            elif isinstance(step, int) and 0 <= step < len(node.items):
                node = node.items[step]
            else:
                break
        return node

    def mark_of(self, path: Sequence[str | int]) -> Mark:
        """Where the key (or the list item) at the end of `path` is written."""
        if path and isinstance(path[-1], str):
            return self.locate(path[:-1]).key(path[-1])
        return self.locate(path).mark

    def strings(self) -> Iterator[Node]:
        """Every text value in here, keys not counted."""
        if isinstance(self.data, str):
            yield self
        for _, child in self.fields.values():
            yield from child.strings()
        for child in self.items:
            yield from child.strings()


class Builder:
    """Builds the nodes of one file for either parser; keeps the bounds and gathers what is wrong."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.count = 0

    def add(self, mark: Mark, message: str) -> None:
        self.problems.append(mark.problem(message))

    def stop(self, mark: Mark, message: str) -> NoReturn:
        """Give up on this file: nothing behind `mark` can be read."""
        raise PackError(f"{self.file} cannot be read", (*self.problems, mark.problem(message)))

    def enter(self, mark: Mark, depth: int, size: int = 1, height: int = 1) -> None:
        """Account for `size` more values that reach `height` levels down from `depth` (0: the root)."""
        self.count += size
        if self.count > MAX_NODES:
            self.stop(mark, f"more than {MAX_NODES} values in one file (aliases count each time): split the pack")
        if depth + height > MAX_DEPTH:
            self.stop(mark, f"nested deeper than {MAX_DEPTH} levels")

    def leaf(self, mark: Mark, value: Any, name: str) -> Node:
        """A scalar; `name` is the key it belongs to, for the message."""
        if isinstance(value, str):
            value = self.clean_text(mark, value)
        elif isinstance(value, float) and not math.isfinite(value):
            self.add(mark, f"{name}: not a finite number (infinite, NaN or too large)")
            value = None
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
            self.add(mark, f"{name}: a whole number that does not fit in 64 bits")
            value = None
        return Node(mark, value)

    def clean_text(self, mark: Mark, text: str) -> str:
        r"""`text` with surrogate pairs (`\ud83d\ude00` in JSON style) joined; lone ones are refused."""
        try:
            text.encode()
        except UnicodeEncodeError:
            try:
                return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            except UnicodeDecodeError:
                self.add(mark, "text with a lone surrogate, which is no character")
                return text.encode(errors="replace").decode()
        return text

    def put(self, mapping: Node, key: str, key_mark: Mark, child: Node) -> None:
        """Add a field; the first of duplicate keys is kept, each later one is a problem."""
        if key in mapping.fields:
            self.add(key_mark, f"duplicate key {key!r} (first on line {mapping.key(key).line})")
            return
        mapping.fields[key] = (key_mark, child)
        mapping.data[key] = child.data
        _grow(mapping, child)

    def append(self, sequence: Node, child: Node) -> None:
        sequence.items.append(child)
        sequence.data.append(child.data)
        _grow(sequence, child)


def _grow(parent: Node, child: Node) -> None:
    parent.size += child.size
    parent.height = max(parent.height, child.height + 1)

"""YAML text to nodes: the 1.2 core schema, all duplicate keys, bounded aliases, no tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from harness.packs.nodes import Builder, Mark, Node

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_ENDLESS = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_LONGEST_INT = 40
"""More digits than 64 bits can need, and few enough that int() never refuses them."""


def plain_value(text: str) -> Any:
    """What an unquoted YAML scalar means in the core schema of YAML 1.2 (section 10.3.2); `no` is text."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.match(text):
        return int(text) if len(text) <= _LONGEST_INT else float("inf")
    if _BASED.match(text):
        return int(text, 0) if len(text) <= _LONGEST_INT else float("inf")
    if _ENDLESS.match(text):
        return float("inf")
    return float(text) if _FLOAT.match(text) else text


def parse_yaml(text: str, file: str) -> tuple[Node, Builder]:
    """The root node and the builder that holds the problems. Raises PackError where reading must stop."""
    reader = _Reader(text, file)
    return reader.document(), reader.build


class _Reader:
    """Pulls events of ruamel.yaml and builds nodes; recursion is bounded by MAX_DEPTH."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.build = Builder(file)
        self.last = Mark(file, 1, 1)
        self.events = self._events()
        self.anchors: dict[str, Node | None] = {}

    def _events(self) -> Iterator[Any]:
        from ruamel.yaml import YAML

        yield from YAML(typ="safe", pure=True).parse(self.text)

    def _next(self) -> Any:
        """The next event. ruamel.yaml raises bare ValueErrors, AssertionErrors and more beside YAMLError on
        broken input, so that this seam maps whatever it raises."""
        try:
            event = next(self.events)
        except Exception as error:
            self.build.stop(self._error_mark(error), f"not valid YAML: {_reason(error)}")
        self.last = self._mark(event.start_mark)
        return event

    def _error_mark(self, error: Exception) -> Mark:
        place = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if place is not None:
            return self._mark(place)
        position = getattr(error, "position", None)
        if isinstance(position, int):
            before = self.text[:position]
            return Mark(self.build.file, before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)
        return self.last

    def _mark(self, place: Any) -> Mark:
        return Mark(self.build.file, place.line + 1, place.column + 1)

    def document(self) -> Node:
        kinds = ("StreamStartEvent", "DocumentStartEvent")
        for kind in kinds:
            if type(self._next()).__name__ != kind:
                self.build.stop(Mark(self.build.file, 1, 1), "the file is empty")
        root = self.node(self._next(), 0, "the file")
        self._next()
        if type(self._next()).__name__ != "StreamEndEvent":
            self.build.stop(self.last, "a second YAML document: a file holds just one")
        return root

    def node(self, event: Any, depth: int, name: str) -> Node:
        mark = self._mark(event.start_mark)
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self.alias(event.anchor, mark, depth)
        self.build.enter(mark, depth)
        if event.tag is not None:
            shown = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            self.build.add(mark, f"tag {shown!r}: tags are refused, a pack is plain data")
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if kind == "ScalarEvent":
            plain = event.style is None and event.tag is None
            node = self.build.leaf(mark, plain_value(event.value) if plain else event.value, name)
        elif kind == "SequenceStartEvent":
            node = self.sequence(mark, depth, name)
        else:
            node = self.mapping(mark, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def alias(self, anchor: str, mark: Mark, depth: int) -> Node:
        known = self.anchors.get(anchor)
        if known is None:
            why = "stands inside its own anchor" if anchor in self.anchors else "has no anchor before it"
            self.build.add(mark, f"alias *{anchor} {why}")
            return Node(mark, None)
        self.build.enter(mark, depth, known.size, known.height)
        return known

    def sequence(self, mark: Mark, depth: int, name: str) -> Node:
        node = Node(mark, [])
        while type(event := self._next()).__name__ != "SequenceEndEvent":
            self.build.append(node, self.node(event, depth + 1, name))
        return node

    def mapping(self, mark: Mark, depth: int) -> Node:
        node = Node(mark, {})
        while type(event := self._next()).__name__ != "MappingEndEvent":
            key_mark = self._mark(event.start_mark)
            key = self.key(event, depth)
            child = self.node(self._next(), depth + 1, "a value" if key is None else key)
            if key is not None:
                self.build.put(node, key, key_mark, child)
        return node

    def key(self, event: Any, depth: int) -> str | None:
        """The key as text; None, with a problem, for all that is not."""
        mark = self._mark(event.start_mark)
        if type(event).__name__ != "ScalarEvent" or event.tag is not None or event.anchor is not None:
            self.node(event, depth + 1, "a key")
            self.build.add(mark, "a key must be plain text without tag, anchor or alias")
            return None
        if event.style is None and event.value == "<<":
            self.build.add(mark, "merge keys (<<) are not part of YAML 1.2: write the fields out")
            return None
        if event.style is None and not isinstance(plain_value(event.value), str):
            self.build.add(mark, f"key {event.value!r} is read as a number, boolean or null: put it in quotes")
        return self.build.clean_text(mark, event.value)


def _reason(error: Exception) -> str:
    """ruamel's reason without its own (differently counted) positions and notes."""
    parts = [getattr(error, name, None) for name in ("context", "problem", "reason")]
    return ", ".join(part for part in parts if isinstance(part, str)) or str(error) or type(error).__name__

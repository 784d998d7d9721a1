"""JSON text to nodes: strict JSON with places, all duplicate keys found, depth bounded."""

from __future__ import annotations

import re
from bisect import bisect_right
from json import JSONDecodeError, JSONDecoder
from typing import Any

from harness.packs.nodes import Builder, Mark, Node

_SPACE = re.compile(r"[ \t\r\n]*")
_LONGEST_INT = 40


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float("inf")


_SCALARS = JSONDecoder(parse_int=_whole)


def parse_json(text: str, file: str) -> tuple[Node, Builder]:
    """The root node and the builder that holds the problems. Raises PackError where reading must stop."""
    reader = _Reader(text, file)
    root = reader.node(0, "the file")
    reader.space()
    if reader.at < len(text):
        reader.stop("text after the end of the JSON value")
    return root, reader.build


class _Reader:
    """Structure is read here, for the places; strings, numbers and literals by the standard library."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.build = Builder(file)
        self.at = 0
        self.lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def mark(self, at: int) -> Mark:
        line = bisect_right(self.lines, at)
        return Mark(self.build.file, line, at - self.lines[line - 1] + 1)

    def stop(self, message: str) -> None:
        self.build.stop(self.mark(self.at), f"not valid JSON: {message}")

    def space(self) -> str:
        """Skip white space; the character that follows, empty at the end."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def scalar(self) -> Any:
        try:
            value, self.at = _SCALARS.raw_decode(self.text, self.at)
        except JSONDecodeError as error:
            self.at = error.pos
            self.stop(error.msg)
        return value

    def node(self, depth: int, name: str) -> Node:
        first = self.space()
        mark = self.mark(self.at)
        self.build.enter(mark, depth)
        if first == "{":
            return self.mapping(mark, depth)
        if first == "[":
            return self.sequence(mark, depth, name)
        return self.build.leaf(mark, self.scalar(), name)

    def more(self, closing: str, first: bool) -> bool:
        """True where another member follows; steps over the comma before it or the bracket at the end."""
        char = self.space()
        if char == closing:
            self.at += 1
            return False
        if first:
            return True
        if char != ",":
            self.stop(f"expected ',' or '{closing}'")
        self.at += 1
        return True

    def sequence(self, mark: Mark, depth: int, name: str) -> Node:
        node = Node(mark, [])
        self.at += 1
        first = True
        while self.more("]", first):
            self.build.append(node, self.node(depth + 1, name))
            first = False
        return node

    def mapping(self, mark: Mark, depth: int) -> Node:
        node = Node(mark, {})
        self.at += 1
        first = True
        while self.more("}", first):
            if self.space() != '"':
                self.stop("expected a key in double quotes")
            key_mark = self.mark(self.at)
            key = self.build.clean_text(key_mark, self.scalar())
            if self.space() != ":":
                self.stop("expected ':' after the key")
            self.at += 1
            self.build.put(node, key, key_mark, self.node(depth + 1, key))
            first = False
        return node

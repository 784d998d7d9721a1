"""Tools in namespaces, which Responses has and chat has not: each under a name that chat can tell it by, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from harness.models.shapes.shape import Json


class _Tool(Struct, frozen=True):
    name: str
    description: str | None = None


class _Namespace(_Tool, frozen=True):
    tools: list[Json] = []


class Namespaces:
    """The tools of one request. A tool keeps its name; one that is there twice gets its namespace's before it.

    ValueError where a namespace is none, or two tools would still have one name.
    """

    def __init__(self, tools: Sequence[Json]) -> None:
        self.tools: list[Json] = [tool for tool in tools if tool.get("type") != "namespace"]
        self._flat: dict[tuple[str, str], str] = {}
        spaces = [msgspec.convert(tool, _Namespace) for tool in tools if tool.get("type") == "namespace"]
        inner = [(space, tool, msgspec.convert(tool, _Tool)) for space in spaces for tool in space.tools]
        known = Counter([*(str(tool.get("name")) for tool in self.tools), *(read.name for _, _, read in inner)])
        for space, tool, read in inner:
            flat = read.name if known[read.name] == 1 else f"{space.name}__{read.name}"
            told = "\n".join(filter(None, (space.description, read.description)))
            self._flat[space.name, read.name] = flat
            self.tools.append({**tool, "name": flat, "description": told or None})
        self._spaced = {flat: spaced for spaced, flat in self._flat.items()}
        names = Counter(str(tool.get("name")) for tool in self.tools)
        if twice := [flat for flat in self._spaced if names[flat] > 1]:
            raise ValueError(f"`tools`: more than one is called {twice[0][:100]!r}")

    def flat(self, item: Json) -> Json:
        """An item, or a choice, that names a tool: by the name that chat knows."""
        space, name = item.get("namespace"), item.get("name")
        return item if space is None else {**item, "name": self._flat.get((str(space), str(name)), name)}

    def spaced(self, item: Json) -> Json:
        """An item of an answer: by the request's own name again."""
        if item.get("name") not in self._spaced:
            return item
        space, name = self._spaced[item["name"]]
        return {**item, "namespace": space, "name": name}

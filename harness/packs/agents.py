"""The strict loader of `--agents` files: agents ready to be had, or every problem of the file at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from harness.domain.agents import AgentEntry, AgentsFile
from harness.domain.ids import is_safe_id
from harness.domain.pack import Problem
from harness.errors import PackError
from harness.packs.nodes import Node
from harness.packs.shape import read_struct
from harness.packs.source import read_tree
from harness.packs.words import show, unsafe

Refusal = Callable[[str, str], str | None]
"""(`image`, `dir` or `writable_paths`, what is written there) -> why it cannot be; None where it can."""


def load_agents(path: Path, refused: Refusal) -> tuple[AgentEntry, ...]:
    """The agents of a file, in its order. PackError, whose `problems` are all there are."""
    if not path.is_file():
        raise PackError(f"no file of agents at {path}", remedy="see docs/agents.md")
    root, problems = read_tree(path)
    file = None
    if root is not None:
        file, misshapen = read_struct(root, AgentsFile, "the file")
        problems += misshapen
        problems += _problems(root, refused)
    if problems or file is None:
        found = tuple(sorted(set(problems)))
        count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
        raise PackError(f"{path} has {count}", found, remedy="mend them; docs/agents.md has the fields")
    return tuple(file.agents)


def _problems(root: Node, refused: Refusal) -> Iterator[Problem]:
    first: dict[str, Node] = {}
    for agent in root.get("agents").items:
        name = agent.get("name")
        if name.text and (known := first.setdefault(name.text, name)) is not name:
            yield name.mark.problem(f"duplicate agent name {show(name.text)} (first on line {known.mark.line})")
        if name.text and ".." in name.text and not is_safe_id(name.text):
            yield name.mark.problem(unsafe("name", name.text))
        yield from _agent(agent, refused)


def _agent(agent: Node, refused: Refusal) -> Iterator[Problem]:
    if not isinstance(agent.data, dict):
        return
    given = [field for field in ("image", "dir") if agent.get(field).exists]
    if len(given) != 1:
        what = "both" if given else "neither"
        yield agent.mark.problem(f"an agent needs exactly one of 'image' and 'dir'; this one has {what}")
    for field in ("image", "dir"):
        yield from _refused(field, agent.get(field), refused)
    paths = agent.get("writable_paths")
    if paths.items and agent.get("writable").data != "redirect":
        yield agent.key("writable_paths").problem("writable_paths needs 'writable: redirect' beside it")
    for path in paths.items:
        yield from _refused("writable_paths", path, refused)


def _refused(field: str, node: Node, refused: Refusal) -> Iterator[Problem]:
    if node.text is not None and (why := refused(field, node.text)):
        yield node.mark.problem(f"{field}: {why}")

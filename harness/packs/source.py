"""Files and folders to one tree of nodes: reading with bounds, and merging a folder's scenario files."""

from __future__ import annotations

from pathlib import Path

from harness.domain.pack import Problem
from harness.errors import PackError
from harness.packs.json_text import parse_json
from harness.packs.nodes import Mark, Node
from harness.packs.words import did_you_mean
from harness.packs.yaml_text import parse_yaml

MAX_FILE_BYTES = 16 * 1024 * 1024
SUFFIXES = (".yaml", ".yml", ".json")
SCENARIOS = "scenarios"
"""The folder of a pack's scenario files, and their one key."""


def read_pack(path: Path) -> tuple[Node | None, list[Problem]]:
    """The tree of a pack file or folder; None where its main file cannot be read at all.

    Raises PackError where there is no pack at `path`.
    """
    if not path.is_dir():
        return read_file(path)
    root, problems = read_file(main_file(path))
    for part in _scenario_files(path):
        node, found = read_file(part)
        problems += found
        if node is not None:
            problems += _scenarios_only(node)
            if root is not None:
                _merge(root, node)
    return root, problems


def read_file(path: Path) -> tuple[Node | None, list[Problem]]:
    """One file of a pack: its tree and what is wrong in its text. PackError where it is none."""
    if not path.is_file():
        raise PackError(f"no pack at {path}", remedy="give a .yaml or .json file, or a folder with a pack.yaml")
    if path.suffix.lower() not in SUFFIXES:
        raise PackError(f"{path} is not a pack", remedy=f"a pack file ends in {', '.join(SUFFIXES)}")
    return read_tree(path)


def read_tree(path: Path) -> tuple[Node | None, list[Problem]]:
    """A file's tree and what is wrong in its text; JSON by its suffix, else YAML."""
    start = Mark(str(path), 1, 1)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return None, [start.problem(f"cannot be read: {error.strerror}")]
    if len(data) > MAX_FILE_BYTES:
        return None, [start.problem(f"larger than {MAX_FILE_BYTES} bytes: split the pack")]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        return None, [Problem(str(path), line, column, "not UTF-8 text")]
    parse = parse_json if path.suffix.lower() == ".json" else parse_yaml
    try:
        node, build = parse(text, str(path))
    except PackError as error:
        return None, [p for p in error.problems if isinstance(p, Problem)]
    return node, build.problems


def main_file(folder: Path) -> Path:
    """The one pack.yaml, pack.yml or pack.json of a folder; PackError where there is none, or more than one."""
    found = [folder / f"pack{suffix}" for suffix in SUFFIXES if (folder / f"pack{suffix}").is_file()]
    if len(found) == 1:
        return found[0]
    what = "no pack.yaml in it" if not found else f"more than one: {', '.join(p.name for p in found)}"
    raise PackError(f"{folder} is not a pack: {what}", remedy="give a folder with one pack.yaml, or a pack file")


def _scenario_files(folder: Path) -> list[Path]:
    parts = folder / SCENARIOS
    if not parts.is_dir():
        return []
    return sorted(p for p in parts.iterdir() if p.suffix.lower() in SUFFIXES and p.is_file())


def _scenarios_only(node: Node) -> list[Problem]:
    """A scenario file holds one key, `scenarios`, with a list."""
    listed = node.get("scenarios")
    problems = [
        mark.problem(
            f"unknown field {name!r}: a scenario file holds only 'scenarios'" + did_you_mean(name, ["scenarios"])
        )
        for name, (mark, _) in node.fields.items()
        if name != "scenarios"
    ]
    if not isinstance(listed.data, list):
        problems.append(listed.mark.problem("a scenario file needs a list 'scenarios'"))
    return problems


def _merge(root: Node, part: Node) -> None:
    """Append a part's scenarios to the pack's own list, where the pack has none yet to a new one."""
    if not isinstance(root.data, dict):
        return
    if "scenarios" not in root.fields:
        root.data["scenarios"] = []
        root.fields["scenarios"] = (root.mark, Node(root.mark, root.data["scenarios"]))
    own = root.get("scenarios")
    if isinstance(own.data, list):
        own.items.extend(part.get("scenarios").items)
        own.data.extend(item.data for item in part.get("scenarios").items)

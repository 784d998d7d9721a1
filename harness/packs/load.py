"""The strict loader: a path to a pack, or to every problem in it at once."""

from __future__ import annotations

from pathlib import Path

from harness.domain.pack import Pack, PackFile, Problem
from harness.errors import PackError
from harness.packs.folders import Folders, read_folders
from harness.packs.nodes import Node
from harness.packs.resolve import Written, resolve_pack
from harness.packs.rules import pack_problems
from harness.packs.shape import read_shape
from harness.packs.source import read_pack
from harness.ports import CheckCatalogue


def load_pack(path: Path, catalogue: CheckCatalogue) -> Pack:
    """A pack ready to run, from a .yaml/.yml/.json file or a folder with a pack.yaml and scenarios/*.yaml.

    Raises PackError, whose `problems` are all there are. Nothing in the pack is executed.
    """
    root, file, folders, problems = _read(path, catalogue)
    if problems or root is None or file is None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise PackError(f"{path} has {count}", tuple(problems), remedy="mend them and run `fumehood pack check` again")
    lines = [scenario.mark.line for scenario in root.get("scenarios").items]
    return resolve_pack(file, Written(str(path), lines, folders), catalogue)


def check_pack(path: Path, catalogue: CheckCatalogue) -> list[Problem]:
    """Every problem of a pack in file order; empty: it loads. Raises PackError where there is no pack."""
    return _read(path, catalogue)[3]


def _read(path: Path, catalogue: CheckCatalogue) -> tuple[Node | None, PackFile | None, list[Folders], list[Problem]]:
    root, problems = read_pack(path)
    if root is None:
        return None, None, [], sorted(set(problems))
    file, misshapen = read_shape(root)
    problems += misshapen
    problems += pack_problems(root, catalogue)
    folders, unreadable = read_folders(root, path)
    problems += unreadable
    return root, file, folders, sorted(set(problems))

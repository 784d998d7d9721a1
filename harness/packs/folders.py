"""Folders a scenario names (`workspace`, `verify.files`): read whole, inside the pack, no link followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath

from msgspec import Struct

from harness.domain.pack import Problem
from harness.domain.workspace import MAX_IN_BYTES, MAX_IN_FILES, WorkFile, path_problem
from harness.packs.nodes import Node
from harness.packs.source import SCENARIOS
from harness.packs.words import show

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CACHES = ("__pycache__", ".pytest_cache", ".DS_Store")
"""Left out: what running the tests by hand leaves behind is no part of a pack."""
_HISTORIES = (".git", ".hg", ".svn")
_HISTORY = "is a repository, which can hold what comes later: leave it out"


class Folders(Struct, frozen=True):
    """The files of one scenario's folders; None where it names none, or where there is a problem with it."""

    workspace: tuple[WorkFile, ...] | None
    hidden: tuple[WorkFile, ...] | None


def read_folders(root: Node, path: Path) -> tuple[list[Folders], list[Problem]]:
    """For each scenario of the pack at `path`, in order, its files; and every problem with them."""
    home = path if path.is_dir() else path.parent
    found, problems = [], []
    scenarios = root.get("scenarios").items
    for scenario in scenarios:
        work, hidden = scenario.get("workspace"), scenario.get("verify").get("files")
        read = []
        for node, name in ((work, "workspace"), (hidden, "files")):
            folder = _Folder(home, node, name)
            read.append(folder.files() if node.text is not None else None)
            problems += folder.problems
        found.append(Folders(*read))
    return found, [*problems, *_apart(scenarios, home)]


def place_of(node: Node, home: Path) -> str | None:
    """The folder a node names, relative to the pack's own in normal form; None where it leads out of it."""
    if node.text is None or "\0" in node.text or node.text.startswith("/"):
        return None
    below = os.path.relpath(Path(node.mark.file).parent, home)
    place = normpath(PurePosixPath(below, node.text).as_posix())
    return None if place == ".." or place.startswith(("../", "/")) else place


def _apart(scenarios: list[Node], home: Path) -> Iterator[Problem]:
    """Nothing hidden may lie in what an agent is given, be it for another scenario."""
    shown = {place_of(scenario.get("workspace"), home) for scenario in scenarios} - {None}
    for hidden in (scenario.get("verify").get("files") for scenario in scenarios):
        place = place_of(hidden, home)
        if place is not None and any(place == outer or place.startswith(f"{outer}/") for outer in shown):
            yield hidden.mark.problem(f"hidden files in {show(hidden.text)} lie in a workspace, which agents see")


class _Folder:
    """Reads one folder; `problems` says all that is wrong with it, at the place where it is named."""

    def __init__(self, home: Path, node: Node, name: str) -> None:
        self._home, self._node, self._name = home, node, name
        self._bytes = 0
        self._found: list[WorkFile] = []
        self.problems: list[Problem] = []

    def _refuse(self, message: str) -> None:
        self.problems.append(self._node.mark.problem(f"{self._name}: {message}"))

    def files(self) -> tuple[WorkFile, ...] | None:
        """Its files by path; None where there is a problem."""
        place = place_of(self._node, self._home)
        if place is None:
            self._refuse(f"expected a folder inside the pack's own, came {show(self._node.text)}")
        elif place in (".", SCENARIOS):
            self._refuse("a folder of the pack's own files holds what the agent must not see: name one below it")
        else:
            self._read(place)
        return None if self.problems else tuple(sorted(self._found, key=lambda file: file.path))

    def _read(self, place: str) -> None:
        """Down from the pack's own folder, name by name, so that no link on the way is followed."""
        at = os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in place.split("/"):
                deeper = os.open(part, _FOLDER, dir_fd=at)
                os.close(at)
                at = deeper
            self._walk(at, "")
        except OSError as error:
            self._refuse(f"{show(self._node.text)} cannot be read as a folder without links: {error.strerror}")
        finally:
            os.close(at)

    def _walk(self, folder: int, below: str) -> None:
        for name in sorted(os.listdir(folder)):
            path = below + name
            if name in _CACHES or name.endswith(".pyc"):
                continue
            if len(self._found) >= MAX_IN_FILES:
                return self._refuse(f"more than {MAX_IN_FILES} files")
            if problem := _HISTORY if name in _HISTORIES else path_problem(path):
                self._refuse(f"{show(path)} {problem}")
                continue
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                self._enter(folder, name, path)
            elif stat.S_ISREG(mode):
                self._take(folder, name, path)
            else:
                self._refuse(f"{show(path)} is a {'link' if stat.S_ISLNK(mode) else 'special file'}, not a file")
            if self.problems:
                return None
        return None

    def _enter(self, folder: int, name: str, path: str) -> None:
        deeper = os.open(name, _FOLDER, dir_fd=folder)
        try:
            self._walk(deeper, path + "/")
        finally:
            os.close(deeper)

    def _take(self, folder: int, name: str, path: str) -> None:
        with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
            status = os.fstat(file.fileno())
            content = file.read(MAX_IN_BYTES + 1) if stat.S_ISREG(status.st_mode) else b""
        self._bytes += len(content)
        if self._bytes > MAX_IN_BYTES:
            return self._refuse(f"larger than {MAX_IN_BYTES} bytes in all")
        self._found.append(WorkFile(path, content, bool(status.st_mode & stat.S_IXUSR)))
        return None

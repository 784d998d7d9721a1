"""What hidden tests run on: which of the agent's files are taken over into the box of `verify`, and which never are."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from harness.domain.pack import Verify
from harness.domain.workspace import Taken, WorkFile, is_literal, matches

_FOREIGN_NAMES = (
    # Python: loaded by the interpreter or a test runner without being asked for
    "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "*.egg-link", "*.pyc", "*.pyo", "pyvenv.cfg",
    "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "setup.py", "pyproject.toml", ".coveragerc", "noxfile.py",
    "pytest.toml", ".pytest.toml",
    # Node: what `npm test` and its runners obey
    "package.json", "package-lock.json", ".npmrc", ".yarnrc*", ".pnpmfile.*", ".mocharc*", "jest.config.*",
    "vitest.config.*", "vite.config.*", "karma.conf.*", "babel.config.*", ".babelrc*", "gruntfile.*", "gulpfile.*",
    "tsconfig*.json", ".node_modules",
    # Others: recipes that a test command may follow
    "makefile", "gnumakefile", "*.mk", "justfile", ".justfile", "rakefile", "gemfile", "cmakelists.txt", "meson.build",
    "build.rs", "build.gradle*", "settings.gradle*", "pom.xml", "build.xml", "cargo.toml", "go.mod", "go.work",
    ".bashrc", ".bash_profile", ".profile", ".envrc", ".env", ".gitattributes", ".gitconfig",
)  # fmt: skip
_FOREIGN_FOLDERS = (
    "__pycache__", ".pytest_cache", "node_modules", ".git", ".hg", ".svn", ".cargo", ".venv", "*.dist-info",
    "*.egg-info", "site-packages",
)  # fmt: skip
_RUNNERS = ("pytest", "_pytest", "pluggy", "iniconfig", "nose", "hypothesis", "coverage", "xdist")
_MODULE_ENDS = (".py", ".so", ".pyd", ".pyc")


class Laid(Struct, frozen=True):
    """The files for the box of `verify`. `taken`: how many are the agent's; `refused`: what is not taken over."""

    files: tuple[WorkFile, ...]
    taken: int
    refused: tuple[str, ...]


def laid_out(original: tuple[WorkFile, ...], left: Taken, verify: Verify) -> Laid:
    """The pack's own workspace, over it what the agent may change of it, over that the hidden files.

    The agent may change and delete files of the original, and add what `outputs` match. Files that runners or
    interpreters would obey or load unasked are never the agent's, unless `outputs` names their path without a glob.
    """
    own = {file.path: file for file in original}
    now = {file.path: file for file in left.files}
    kept = {file.path for file in left.left_out}
    rules = _Rules(verify)
    agents, refused = [], []
    for path in sorted({path for path in own.keys() | now.keys() | kept if own.get(path) != now.get(path)}):
        if path in kept or not rules.allow(path, path in own):
            refused.append(path)
        elif path in now:
            agents.append(now[path])
    mine = {file.path for file in agents}
    stay = [file for path, file in own.items() if path in now or path in refused]
    files = tuple(_without_clashes([*verify.files, *agents, *stay]))
    return Laid(files, sum(file.path in mine for file in files), tuple(refused))


class _Rules:
    """Which paths of the agent's are taken over."""

    def __init__(self, verify: Verify) -> None:
        self._literal = {glob for glob in verify.outputs if is_literal(glob)}
        self._outputs = verify.outputs
        self._hidden = {file.path for file in verify.files}
        self._searched = {"", "src", *(path.rpartition("/")[0] for path in self._hidden)}

    def allow(self, path: str, original: bool) -> bool:
        if path in self._hidden:
            return False
        if path in self._literal:
            return True
        if _foreign(path):
            return False
        return original or (matches(path, self._outputs) and not self._shadows(path))

    def _shadows(self, path: str) -> bool:
        """It would be imported instead of a module of Python, of a test runner, or of a hidden file."""
        for folder in self._searched:
            below = path.removeprefix(folder + "/") if folder else path
            if folder and below == path:
                continue
            first, deeper, _ = below.partition("/")
            stem = first if deeper else first.partition(".")[0]
            if (deeper or first.endswith(_MODULE_ENDS)) and self._known(stem, f"{folder}/{stem}".lstrip("/")):
                return True
        return False

    def _known(self, stem: str, path: str) -> bool:
        return stem in sys.stdlib_module_names or stem in _RUNNERS or f"{path}.py" in self._hidden


def _foreign(path: str) -> bool:
    *folders, name = path.casefold().split("/")
    return any(fnmatchcase(name, glob) for glob in (*_FOREIGN_NAMES, *_FOREIGN_FOLDERS)) or any(
        fnmatchcase(folder, glob) for folder in folders for glob in _FOREIGN_FOLDERS
    )


def _without_clashes(files: Iterable[WorkFile]) -> Iterator[WorkFile]:
    """Each path once, the first of them; and no file where an earlier one needs a folder, or below an earlier file."""
    taken: set[str] = set()
    folders: set[str] = set()
    for file in files:
        parts = file.path.split("/")
        above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        if file.path not in taken and file.path not in folders and not above & taken:
            taken.add(file.path)
            folders |= above
            yield file

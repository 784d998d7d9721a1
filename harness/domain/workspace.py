"""A scenario's workspace: the files put in before the agent starts, and what was taken out when it was gone."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

MAX_IN_FILES = 1000
"""Files of one folder of a pack."""
MAX_IN_BYTES = 16 << 20
"""Bytes of all files of one folder of a pack."""
MAX_OUT_ENTRIES = 5000
"""Files and folders looked at when a workspace is taken out; where there are more, it is not whole."""
MAX_OUT_BYTES = 32 << 20
"""Bytes taken out; a file that would go over is left out."""
MAX_DEPTH = 20
"""Folders on the way to a file."""
MAX_PATH_BYTES = 1000
MAX_NAME_BYTES = 255
_PAGE = 4096


class WorkFile(Struct, frozen=True):
    """A regular file: `path` is relative, with `/`, and has passed `path_problem`."""

    path: str
    content: bytes
    executable: bool = False


class LeftOut(Struct, frozen=True):
    """What stood in the workspace and was not taken out; `size` in bytes, 0 where it has none.

    `why`: "link", "special" (FIFO, socket, device), "large", "deep", "name" (no safe path), "unreadable".
    """

    path: str
    why: str
    size: int = 0


class Taken(Struct, frozen=True):
    """A workspace as it was taken out. `left_out` lists the first of them, `left_out_count` counts all.

    `whole` is False where the walk had to stop early: then what is not listed may be there all the same.
    """

    files: tuple[WorkFile, ...]
    left_out: tuple[LeftOut, ...] = ()
    left_out_count: int = 0
    whole: bool = True


class WorkArea(Struct, frozen=True):
    """A folder to make in a container: where, and with which files. `take_out`: it is wanted back at the end."""

    path: str
    files: tuple[WorkFile, ...]
    take_out: bool = True


def room_for(files: Sequence[WorkFile]) -> int:
    """Bytes of tmpfs that hold these files: whole pages, and one more each for its folder."""
    return sum((len(file.content) // _PAGE + 2) * _PAGE for file in files)


def path_problem(path: str) -> str | None:
    """Why this cannot be the path of a file in a workspace, or None."""
    parts = path.split("/")
    if not path.isprintable():  # control and format characters, lone surrogates
        return "has characters that cannot be shown"
    if any(part in ("", ".", "..") for part in parts):
        return "is not relative and in its normal form"
    if len(parts) > MAX_DEPTH:
        return f"lies deeper than {MAX_DEPTH} folders"
    if len(path.encode()) > MAX_PATH_BYTES or any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        return f"is longer than {MAX_PATH_BYTES} bytes, or a name in it longer than {MAX_NAME_BYTES}"
    return None


def glob_problem(glob: str) -> str | None:
    """Why this glob can match no path of a workspace, or None."""
    if glob.endswith("/"):
        return f"a folder is written {glob[:100]}**"
    problem = path_problem(glob)
    return f"{glob[:100]!r} {problem}" if problem else None


def matches(path: str, globs: Sequence[str]) -> bool:
    """True where one of `globs` matches the whole path: `*` and `?` stay in one name, `**` is any folders."""
    parts = path.split("/")
    return any(_match(parts, glob.split("/")) for glob in globs)


def _match(parts: list[str], glob: list[str]) -> bool:
    """Which lengths of the path the glob so far can have used up; no way back, so that nothing can blow up."""
    reached = {0}
    for place, want in enumerate(glob):
        if want == "**":
            last = place == len(glob) - 1  # at the end it stands for something, not for the folder itself
            reached = {n for start in reached for n in range(start + last, len(parts) + 1)}
        else:
            reached = {n + 1 for n in reached if n < len(parts) and fnmatchcase(parts[n], want)}
    return len(parts) in reached


def is_literal(glob: str) -> bool:
    """True where a glob names one path and nothing else."""
    return not any(char in glob for char in "*?[")

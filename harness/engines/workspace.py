"""How a workspace crosses to and from the guard (guard.c): files on its stdin first, entries ahead of its report."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from harness.domain.workspace import MAX_DEPTH, MAX_OUT_BYTES, MAX_OUT_ENTRIES, LeftOut, Taken, WorkFile, path_problem

MAX_ARCHIVE = MAX_OUT_BYTES + (MAX_OUT_ENTRIES + 200) * 1100 + 64
"""Bytes the guard sends at most: contents, and for each entry a head and a path of at most 1000 bytes."""
OUT_CAPS = f"{MAX_OUT_ENTRIES}:{MAX_OUT_BYTES}:{MAX_DEPTH}"
_HEAD = struct.Struct(">IBQ")
_ENTRY = struct.Struct(">cIBQ")
_END = struct.Struct(">QB")
_WHY = {"l": "link", "s": "special", "h": "large", "d": "deep", "n": "name", "r": "unreadable"}


def pack_files(files: Sequence[WorkFile]) -> bytes:
    """What the guard reads before it starts the command: [path length 4][executable 1][size 8][path][content] each."""
    return b"".join(_packed(files))


def packed_size(files: Sequence[WorkFile]) -> int:
    """Bytes of `pack_files`."""
    return sum(_HEAD.size + len(file.path.encode()) + len(file.content) for file in files)


def _packed(files: Sequence[WorkFile]) -> Iterator[bytes]:
    for file in files:
        path = file.path.encode()
        yield _HEAD.pack(len(path), file.executable, len(file.content)) + path
        yield file.content


def split_report(raw: bytes) -> tuple[Taken | None, bytes]:
    """The workspace that leads what the guard sent after its nonce, if one does, and the rest.

    Nothing at all where it is not whole (the guard was killed meanwhile): then the report did not come either.
    """
    if not raw.startswith(b"W"):
        return None, raw
    try:
        return _read(raw)
    except (struct.error, IndexError, KeyError, OverflowError):
        return None, b""


def _read(raw: bytes) -> tuple[Taken, bytes]:
    files: list[WorkFile] = []
    left: list[LeftOut] = []
    unfit, at = 0, 1
    while raw[at : at + 1] != b"E":
        kind, length, mark, size = _ENTRY.unpack_from(raw, at)
        at += _ENTRY.size + length
        path, problem = _path(raw[at - length : at])
        if kind != b"F":
            left.append(LeftOut(path, _WHY[chr(mark)], size))
            continue
        content = raw[at : at + size]  # OverflowError, struct.error or IndexError where there is less
        at += size + 1
        why = "name" if problem else "unreadable" if raw[at - 1] != 1 else ""
        if why:
            left.append(LeftOut(path, why, size))
            unfit += 1
        else:
            files.append(WorkFile(path, content, mark == 1))
    count, whole = _END.unpack_from(raw, at + 1)
    end = at + 1 + _END.size
    return Taken(tuple(files), tuple(left), count + unfit, whole == 1), raw[end:]


def _path(raw: bytes) -> tuple[str, bool]:
    """As text that can be shown, and whether it cannot be the path of a file of ours."""
    try:
        path = raw.decode()
    except UnicodeDecodeError:
        return _shown(raw.decode("utf-8", "backslashreplace")), True
    return _shown(path), path_problem(path) is not None


def _shown(path: str) -> str:
    """`path` with what is no plain character escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in path)

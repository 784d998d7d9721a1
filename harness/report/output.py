"""Files that a user asked for by name: whole or not at all, and an error that says what to do where they cannot be."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from harness.errors import UsageError

_NAME = 100
_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")
"""Where a path stands for a stream that is open already, whatever file it leads to: that one is not ours to replace."""


@contextmanager
def output_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` once the block has ended well; else `path` stays as it was.

    A device or a pipe is written to as it is. UsageError where the file cannot be made or written.
    """
    temporary = _temporary(path)
    try:
        # appending, as a stream may lead to a file that holds something already
        with path.open("ab") if temporary is None else temporary.open("wb") as file:
            yield file
        if temporary is not None:
            temporary.replace(_target(path))
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        # what is raised while writing names no file; what a reader in the block raises names its own
        if isinstance(error, OSError) and error.filename in (None, str(path), str(temporary)):
            raise _cannot_write(path, error) from error
        raise


def require_writable(path: Path) -> None:
    """UsageError where `path` could not be written: asked before a long run, and not only after it."""
    temporary = _temporary(path)
    if temporary is not None:
        temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path | None:
    """A fresh empty file beside `path`, with the mode it will have; None where `path` is a device or a pipe."""
    try:
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise UsageError(f"cannot write {path}: it is a folder", "name a file in it")
        if str(path).startswith(_STREAMS) or (mode is not None and not stat.S_ISREG(mode)):
            return None
        target = _target(path)
        beside = target.with_name(f".{target.name[:_NAME]}.{secrets.token_hex(4)}.tmp")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        if mode is not None:
            os.fchmod(descriptor, stat.S_IMODE(mode))
        os.close(descriptor)
    except OSError as error:
        raise _cannot_write(path, error) from error
    return beside


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _target(path: Path) -> Path:
    """What is replaced where `path` is a link: what it leads to, not the link."""
    return Path(os.path.realpath(path))


def _cannot_write(path: Path, error: OSError) -> UsageError:
    folder = _target(path).parent
    if not folder.is_dir():
        return UsageError(f"cannot write {path}: there is no folder {folder}", "make it first, or name another file")
    return UsageError(f"cannot write {path}: {error.strerror}", "check its permissions and the free space")

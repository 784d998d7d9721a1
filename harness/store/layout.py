"""Where things lie in a store, and the small file operations everything there shares.

<root>/index.sqlite                                   a cache; can be rebuilt from the rest
<root>/runs/<run id>/plan.json                        what was asked for
                    /pack.json                        the pack as it was run, so that evidence stands on its own
                    /lock                             held (flock) by the process that runs it
                    /scores.jsonl                     verdicts of the run itself (scoring 1), append-only
                    /manifest.json                    the seal
                    /scorings/<n>.jsonl               verdicts of a later scoring, n from 2
                             /<n>.json                its head, written last: without it the scoring does not count
                             /lock                    held (flock) by the process that scores
                    /trials/<agent>/<scenario>/<trial>.jsonl
                                               /<trial>.attempt-<k>.jsonl   retried for a fault of ours
                                               /<trial>.partial-<k>.jsonl   cut off, run again by --resume
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from harness.domain.ids import TrialKey, is_safe_id
from harness.errors import StoreError

PLAN, PACK, SCORES, MANIFEST, LOCK, TRIALS, SCORINGS, INDEX = (
    "plan.json",
    "pack.json",
    "scores.jsonl",
    "manifest.json",
    "lock",
    "trials",
    "scorings",
    "index.sqlite",
)
_JOURNAL_NAME = re.compile(r"([1-9][0-9]{0,8})(?:\.(?:attempt|partial)-[1-9][0-9]{0,8})?\.jsonl")


def journal_path(run_dir: Path, key: TrialKey) -> Path:
    """The journal of a trial. StoreError where a name of the key is unsafe: it would be a path."""
    for name in (key.agent, key.scenario):
        if not is_safe_id(name):
            raise StoreError(f"{name[:100]!r} is no safe name for a folder of the store")
    if key.trial < 1:
        raise StoreError(f"trial numbers begin at 1, not {key.trial}")
    return run_dir / TRIALS / key.agent / key.scenario / f"{key.trial}.jsonl"


def key_of(relative: str) -> TrialKey | None:
    """The trial that a journal's path (relative to the run, with `/`) belongs to; None: not a journal's path."""
    parts = relative.split("/")
    if len(parts) != 4 or parts[0] != TRIALS or not (is_safe_id(parts[1]) and is_safe_id(parts[2])):
        return None
    match = _JOURNAL_NAME.fullmatch(parts[3])
    return TrialKey(parts[1], parts[2], int(match[1])) if match else None


def journals(run_dir: Path) -> Iterator[str]:
    """Every file under `trials/`, as sorted relative paths; what is no journal is listed too."""
    for folder, subfolders, files in os.walk(run_dir / TRIALS):
        subfolders.sort()
        base = Path(folder).relative_to(run_dir).as_posix()
        yield from (f"{base}/{name}" for name in sorted(files))


def set_aside(path: Path, kind: str, number: int = 1) -> Path:
    """Rename `<trial>.jsonl` to the first free `<trial>.<kind>-<k>.jsonl` with k from `number`; the new path."""
    while (target := path.with_name(f"{path.stem}.{kind}-{number}.jsonl")).exists():
        number += 1
    path.rename(target)
    return target


def make_dirs(path: Path) -> None:
    """Make a folder and its parents, readable by nobody else."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    try:
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}", "choose another folder with --store") from error


def write_atomically(path: Path, data: bytes) -> None:
    """All of `data` or the file as it was: write beside it, sync, rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> StoreError:
    """The error for a file that the disk or its permissions refused."""
    return StoreError(f"cannot write {path}: {error.strerror}", "check its permissions and the free space")


def digest(path: Path) -> str:
    """sha256 (hex) of a file; of nothing where there is no such file."""
    total = hashlib.sha256()
    if path.is_file():
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                total.update(block)
    return total.hexdigest()

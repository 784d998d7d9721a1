"""What an agent made of its workspace, as evidence: one event per file that is not as it was; pure."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct

from harness.domain.workspace import LeftOut, Taken, WorkFile
from harness.session.tail import SPARE

MAX_DIFFS = 50
"""Files of one trial whose diff is shown."""
MAX_DIFF_CHARS = 8000
MAX_DIFF_BYTES = 1 << 20
"""A file that is longer, before or after, is shown without a diff."""
MAX_CORE_LINES = 400
"""Lines between what both have at the start and at the end: comparing takes the square of it."""

_HUNK = re.compile(r"\A@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@\Z")


class Account(Struct, frozen=True):
    """`changes`: the data of `workspace` events by path; `summary`: for `exit`; `findings`: (code, reason)."""

    changes: tuple[dict[str, Any], ...]
    summary: dict[str, Any] | None
    findings: tuple[tuple[str, str], ...]


def account_of(original: Sequence[WorkFile], taken: Taken | None, scrub: Callable[[str], str]) -> Account:
    """What changed between what was put in and what came out; diffs are scrubbed before they are cut to size."""
    if taken is None:
        return Account((), None, (("workspace_lost", "the workspace could not be taken out: its state is not known"),))
    changes = sorted(_changes({file.path: file for file in original}, taken), key=lambda change: change.path)
    told = [_told(change, scrub if number < MAX_DIFFS else None) for number, change in enumerate(changes)]
    summary = {
        "files": len(taken.files),
        "bytes": sum(len(file.content) for file in taken.files),
        "changed": len(changes),
        "left_out": taken.left_out_count,
        "whole": taken.whole and taken.left_out_count <= len(taken.left_out),
    }
    return Account(tuple(told), summary, tuple(_findings(taken)))


def _findings(taken: Taken) -> Iterator[tuple[str, str]]:
    if taken.left_out_count:
        counts = Counter(left.why for left in taken.left_out)
        listed = ", ".join(f"{count} {why}" for why, count in sorted(counts.items()))
        more = taken.left_out_count - len(taken.left_out)
        unlisted = f", {more} more not listed" if more > 0 else ""
        yield "workspace_left_out", f"not taken out of the workspace: {listed}{unlisted}"
    if not taken.whole:
        yield (
            "workspace_not_whole",
            "the workspace holds more than is taken out, or what cannot be read: not all is known",
        )


class _Change(Struct, frozen=True):
    """One path that is not as it was: before, after, and why the latter was left where it is."""

    path: str
    old: WorkFile | None
    new: WorkFile | None
    left: LeftOut | None = None


def _changes(before: dict[str, WorkFile], taken: Taken) -> Iterator[_Change]:
    seen = set()
    for file in taken.files:
        seen.add(file.path)
        if before.get(file.path) != file:
            yield _Change(file.path, before.get(file.path), file)
    for left in taken.left_out:
        seen.add(left.path)
        yield _Change(left.path, before.get(left.path), None, left)
    # What the walk did not come to is not known to be gone.
    for path, old in before.items() if taken.whole else ():
        if path not in seen:
            yield _Change(path, old, None)


def _told(change: _Change, scrub: Callable[[str], str] | None) -> dict[str, Any]:
    old, new, left = change.old, change.new, change.left
    data: dict[str, Any] = {
        "path": change.path,
        "change": "added" if old is None else "deleted" if new is None and left is None else "modified",
        "size": len(new.content) if new else left.size if left else 0,
        "sha256": hashlib.sha256(new.content).hexdigest() if new else None,
    }
    if left:
        return {**data, "left_out": left.why}
    if new and new.executable != (old is not None and old.executable):
        data["executable"] = new.executable
    if scrub is None:
        return {**data, "diff_cut": True}
    return {**data, **_cut(_diff(old.content if old else b"", new.content if new else b""), scrub)}


def _cut(shown: dict[str, Any], scrub: Callable[[str], str]) -> dict[str, Any]:
    """Half a secret at the edge would pass the scrubber: so first with room to spare, then to size."""
    if "diff" not in shown:
        return shown
    body = scrub(shown["diff"][: MAX_DIFF_CHARS + SPARE])
    cut = len(shown["diff"]) > MAX_DIFF_CHARS
    return {"diff": body[:MAX_DIFF_CHARS], **({"diff_cut": True} if cut else {})}


def _diff(old: bytes, new: bytes) -> dict[str, Any]:
    """{diff, diff_cut?} in unified form for text of bearable size; nothing for others; `diff_cut` alone for long."""
    if old == new:
        return {}
    if len(old) > MAX_DIFF_BYTES or len(new) > MAX_DIFF_BYTES:
        return {"diff_cut": True}
    if b"\0" in old or b"\0" in new:
        return {}
    try:
        a, b = (_lines(data.decode()) for data in (old, new))
    except UnicodeDecodeError:
        return {}
    return _unified(a, b)


def _lines(text: str) -> list[str]:
    """Lines as diff(1) knows them: a last one without its end is another one than with it."""
    *whole, rest = text.split("\n")
    return [*whole, f"{rest}\n\\ No newline at end of file"] if rest else whole


def _unified(a: list[str], b: list[str]) -> dict[str, Any]:
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    if max(len(a), len(b)) - head - tail > MAX_CORE_LINES:
        return {"diff_cut": True}
    start, end = max(0, head - 3), max(0, tail - 3)
    lines = list(difflib.unified_diff(a[start : len(a) - end], b[start : len(b) - end], lineterm=""))[2:]
    return {"diff": "\n".join(_HUNK.sub(lambda found: _moved(found, start), line) for line in lines)}


def _moved(found: re.Match[str], by: int) -> str:
    """A hunk's head with line numbers of the whole file."""
    return f"@@ -{int(found[1]) + by}{found[2] or ''} +{int(found[3]) + by}{found[4] or ''} @@"


def _common(a: list[str], b: list[str]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))

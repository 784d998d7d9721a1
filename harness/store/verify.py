"""Recomputing the evidence of a run against its seal, and naming the first line of each file that differs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from harness.errors import AuditMismatch
from harness.store import layout
from harness.store.journal import decode_line, first_prev, hash_line
from harness.store.manifest import JournalSeal, Manifest, read_manifest
from harness.store.scorings import FIRST, read_scoring_head, scoring_numbers, seal_digest


class Mismatch(Struct, frozen=True):
    """The first difference in one file. `line` from 1, 0: the file as a whole."""

    file: str
    line: int
    message: str
    expected: str = ""
    found: str = ""


class VerifyReport(Struct, frozen=True):
    """What was recomputed and what differs. `manifest_digest`: sha256 of the whole file, empty if not sealed.

    `scorings`: how many later ones there are beside the run's own.
    """

    run_id: str
    sealed: bool
    complete: bool
    manifest_digest: str
    journals: int
    lines: int
    mismatches: tuple[Mismatch, ...]
    notes: tuple[str, ...]
    scorings: int = 0

    @property
    def ok(self) -> bool:
        return not self.mismatches


class _Chain(Struct, frozen=True):
    """One journal read to its end or to its first mistake. `size` in bytes, of whole lines."""

    lines: int
    head: str
    rest: str = ""
    mistake: tuple[int, str, str, str] | None = None


_UNSEALED = (
    "this run is not sealed: chains were checked, but a changed last line, a journal cut short at a line's end, a "
    "missing journal or an added one cannot be told"
)
_PIN = (
    "a manifest proves that nothing changed since it was written; that it is the one written then only its digest "
    "proves, kept where whoever could change the store cannot write"
)


def verify_run(run_dir: Path) -> VerifyReport:
    """Recompute every chain, one line in memory at a time, and compare with the manifest if there is one."""
    mismatches: list[Mismatch] = []
    notes: list[str] = []
    manifest: Manifest | None = None
    sealed = (run_dir / layout.MANIFEST).is_file()
    try:
        manifest = read_manifest(run_dir)
    except AuditMismatch as error:
        mismatches.append(Mismatch(layout.MANIFEST, 1, error.message.partition("line 1: ")[2]))
    notes.append(_PIN if sealed else _UNSEALED)
    if manifest is not None:
        mismatches += _files_beside(run_dir, manifest)
        if not manifest.complete:
            notes.append("the run was interrupted before all its trials were done")
    journals = lines = 0
    seals = {seal.path: seal for seal in manifest.journals} if manifest is not None else {}
    for path in layout.journals(run_dir):
        seal = seals.pop(path, None)
        if manifest is not None and seal is None:
            mismatches.append(Mismatch(path, 0, "an extra file: the manifest does not list it"))
            continue
        checked, found = _verify_journal(run_dir, path, seal)
        journals, lines = journals + 1, lines + checked
        mismatches += found
    mismatches += [Mismatch(p, 0, f"missing; the manifest lists it with {s.lines} lines") for p, s in seals.items()]
    scorings = scoring_numbers(run_dir)
    mismatches += _verify_scorings(run_dir, scorings, notes)
    return VerifyReport(
        run_id=run_dir.name,
        sealed=sealed,
        complete=manifest is not None and manifest.complete,
        manifest_digest=layout.digest(run_dir / layout.MANIFEST) if sealed else "",
        journals=journals,
        lines=lines,
        mismatches=tuple(mismatches),
        notes=tuple(notes),
        scorings=len(scorings),
    )


def hold_seal(run_dir: Path) -> None:
    """AuditMismatch where manifest, plan, pack or verdicts are not as they were sealed; journals are not read.

    What is told of a run rests on these, so whoever tells it looks first. A run without a seal holds nothing.
    """
    manifest = read_manifest(run_dir)
    if manifest is None:
        return
    for first in _files_beside(run_dir, manifest):
        raise changed(run_dir, first)


def changed(run_dir: Path, first: Mismatch) -> AuditMismatch:
    """The error for a run that is not as it was sealed."""
    where = f"{first.file}, line {first.line}: {first.message}"
    remedy = f"fumehood audit verify {run_dir.name}"
    return AuditMismatch(f"run {run_dir.name} was changed since it was sealed: {where}", remedy)


def _files_beside(run_dir: Path, manifest: Manifest) -> Iterator[Mismatch]:
    if manifest.run_id != run_dir.name:
        yield Mismatch(layout.MANIFEST, 1, "is the manifest of another run", run_dir.name, manifest.run_id)
    found = layout.digest(run_dir / layout.PLAN)
    if found != manifest.plan_digest:
        yield Mismatch(layout.PLAN, 1, "changed since the run was sealed", manifest.plan_digest, found)
    copy = run_dir / layout.PACK
    found = layout.digest(copy) if copy.is_file() else ""
    if found != manifest.pack_copy_digest:
        yield Mismatch(layout.PACK, 1, "changed since the run was sealed", manifest.pack_copy_digest, found)
    # Whole: a verdict that was added takes the place of the one before it. Later scorings have files of their own.
    found = layout.digest(run_dir / layout.SCORES)
    if found != manifest.scores_digest:
        yield Mismatch(layout.SCORES, 0, "changed since the run was sealed", manifest.scores_digest, found)


def _verify_scorings(run_dir: Path, numbers: list[int], notes: list[str]) -> Iterator[Mismatch]:
    """Each scoring against the digest in its head, each head against its own; a number left out is one missing."""
    seal = seal_digest(run_dir)
    for before, number in pairwise((FIRST, *numbers)):
        if number > before + 1:  # the first of a gap, which may be as wide as a name can say
            yield Mismatch(f"{layout.SCORINGS}/{before + 1}.json", 0, "missing: there are later scorings")
        name = f"{layout.SCORINGS}/{number}.json"
        try:
            head = read_scoring_head(run_dir, number)
        except AuditMismatch as error:
            yield Mismatch(name, 1, error.message.partition("line 1: ")[2])
            continue
        verdicts = run_dir / f"{name}l"
        found = layout.digest(verdicts)
        if found != head.sha256:
            message = "changed since it was scored" if verdicts.is_file() else "missing"
            yield Mismatch(f"{name}l", 0, message, head.sha256, found)
        if not seal or head.seal != seal:
            notes.append(f"scoring {number} was not made under the seal the run has now: it is not the newest")


def _verify_journal(run_dir: Path, path: str, seal: JournalSeal | None) -> tuple[int, list[Mismatch]]:
    """Lines checked, and the first mismatch if there is one."""
    key = layout.key_of(path)
    if key is None:
        return 0, [Mismatch(path, 0, "is not a journal's name")]
    chain = _walk(run_dir / path, first_prev(run_dir.name, key), seal)
    if chain.mistake is not None:
        number, message, expected, found = chain.mistake
        return chain.lines, [Mismatch(path, number, message, expected, found)]
    if seal is None:
        cut = Mismatch(path, chain.lines + 1, "cut off in the middle of a line")
        return chain.lines, [cut] if chain.rest and ".partial-" not in path else []
    if chain.lines < seal.lines:
        message = f"missing: cut short, {seal.lines} lines were sealed"
        return chain.lines, [Mismatch(path, chain.lines + 1, message, str(seal.lines), str(chain.lines))]
    if chain.lines > seal.lines:
        message = f"added: only {seal.lines} lines were sealed"
        return chain.lines, [Mismatch(path, seal.lines + 1, message, str(seal.lines), str(chain.lines))]
    if chain.head != seal.head:
        return chain.lines, [Mismatch(path, chain.lines, "changed since it was sealed", seal.head, chain.head)]
    if chain.rest != seal.rest:
        message = "bytes after the last whole line changed"
        return chain.lines, [Mismatch(path, chain.lines + 1, message, seal.rest, chain.rest)]
    return chain.lines, []


def _walk(path: Path, first: str, seal: JournalSeal | None) -> _Chain:
    """Follow the chain. Where line k+1 does not carry the hash of line k, one of them was changed: line k if
    what follows vouches for k+1, else k+1."""
    expected, number, head = first, 0, ""
    with path.open("rb") as file:
        for whole in file:
            if not whole.endswith(b"\n"):
                return _Chain(number, head, hash_line(whole))
            number, raw = number + 1, whole[:-1]
            try:
                line = decode_line(raw)
            except ValueError as error:
                return _Chain(number, head, mistake=(number, f"changed: {error}", "a journal line", _shown(raw)))
            if line.n != number:
                kind = "removed" if line.n > number else "added"
                return _Chain(number, head, mistake=(number, f"{kind}: wrong number", str(number), str(line.n)))
            if line.prev != expected:
                vouched = _vouched(file.readline(), number, hash_line(raw), seal)
                return _Chain(number, head, mistake=_blame(number, vouched, expected, line.prev))
            expected = head = hash_line(raw)
    return _Chain(number, head)


def _vouched(following: bytes, number: int, own: str, seal: JournalSeal | None) -> bool:
    """Whether the next line, or the seal, carries the hash of line `number`."""
    if seal is not None and number == seal.lines:
        return seal.head == own
    try:
        return decode_line(following.rstrip(b"\n")).prev == own
    except ValueError:
        return False


def _blame(number: int, vouched: bool, expected: str, found: str) -> tuple[int, str, str, str]:
    if number == 1:
        what = "belongs to another trial or run (files swapped?)" if vouched else "changed"
        return 1, what, expected, found
    if vouched:
        # what line k+1 carries is what line k was when it was written
        return number - 1, "changed: its hash is not the one the next line carries", found, expected
    return number, "changed: does not carry the hash of the line before it", expected, found


def _shown(raw: bytes) -> str:
    return repr(raw[:80])

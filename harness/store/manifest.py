"""The seal of a run: what was run, and the head of every journal, under one digest.

The file is one line, `{"sha256":"<hex>","manifest":{...}}` and LF; the digest is over the bytes of the inner
object and catches a careless edit. It cannot catch a forger, who can compute it too: for that, keep the
digest of the whole file (`fumehood audit verify` prints it) where the forger cannot write.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from harness.domain.run import PackRef, RunPlan
from harness.domain.spec import AgentRef
from harness.errors import AuditMismatch, StoreError
from harness.store import layout
from harness.store.envelope import unwrap, wrap
from harness.store.journal import read_tail

FORMAT = 1
_NAME = "manifest"


class JournalSeal(Struct, frozen=True, omit_defaults=True):
    """One journal: path relative to the run, whole lines, hash of the last, size in bytes, and whether it ended.

    `rest`: sha256 of half a line at the end, where the writer was killed.
    """

    path: str
    lines: int
    head: str
    size: int
    finished: bool
    rest: str = ""


class ManifestHead(Struct, frozen=True):
    """A manifest without its journals, so that listing runs stays cheap."""

    format: int
    run_id: str
    complete: bool
    harness: str
    protocols: tuple[str, ...]
    pack: PackRef
    agents: tuple[AgentRef, ...]
    policy_digest: str
    seed: int
    created: str
    ended: str
    planned: int
    done: int
    plan_digest: str
    scores_digest: str
    verdict: dict[str, Any] | None
    pack_copy_digest: str = ""


class Manifest(ManifestHead, frozen=True):
    """`policy_digest` is over policy and limits; `scores_digest` over `scores.jsonl`.

    `pack_copy_digest` is over `pack.json`, empty where the run has none. `complete` is False for a run that was
    interrupted. `verdict` is a `RunVerdict` as plain data.
    """

    journals: tuple[JournalSeal, ...] = ()


def seal(run_dir: Path, plan: RunPlan, ended: str, complete: bool, verdict: dict[str, Any] | None) -> str:
    """Write `manifest.json`, replacing an earlier one; the sha256 (hex) of the file, to be pinned elsewhere.

    `ended`: ISO 8601 in UTC. `verdict`: from scrubbed verdicts. Reads the end of each journal only;
    whether they are whole is for `verify_run` to say.
    """
    seals = tuple(_seal_of(run_dir, path) for path in layout.journals(run_dir))
    current = {layout.journal_path(run_dir, key).relative_to(run_dir).as_posix() for key in plan.cells()}
    manifest = Manifest(
        format=FORMAT,
        run_id=plan.run_id,
        complete=complete,
        harness=plan.harness,
        protocols=plan.protocols,
        pack=plan.pack,
        agents=plan.agents,
        policy_digest=hashlib.sha256(msgspec.json.encode((plan.policy, plan.limits))).hexdigest(),
        seed=plan.seed,
        created=plan.created,
        ended=ended,
        planned=plan.planned,
        done=sum(1 for sealed in seals if sealed.finished and sealed.path in current),
        plan_digest=layout.digest(run_dir / layout.PLAN),
        scores_digest=layout.digest(run_dir / layout.SCORES),
        verdict=verdict,
        pack_copy_digest=layout.digest(copy) if (copy := run_dir / layout.PACK).is_file() else "",
        journals=seals,
    )
    data = wrap(_NAME, msgspec.json.encode(manifest))
    layout.write_atomically(run_dir / layout.MANIFEST, data)
    return hashlib.sha256(data).hexdigest()


def _seal_of(run_dir: Path, path: str) -> JournalSeal:
    tail = read_tail(run_dir / path)
    return JournalSeal(path, tail.lines, tail.head, tail.size, tail.finished, tail.rest)


def read_manifest(run_dir: Path) -> Manifest | None:
    """The manifest of a sealed run; None: not sealed. AuditMismatch where it was edited or cannot be read."""
    path = run_dir / layout.MANIFEST
    if not path.is_file():
        return None
    try:
        data = path.read_bytes()
        inner = unwrap(_NAME, data)
        if data != wrap(_NAME, inner):
            raise AuditMismatch(f"{path}, line 1: differs from its own digest: it was edited after sealing")
        return msgspec.json.decode(inner, type=Manifest)
    except (msgspec.DecodeError, ValueError) as error:
        raise AuditMismatch(f"{path}, line 1: not a manifest: {error}") from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def read_head(run_dir: Path) -> ManifestHead | None:
    """Like `read_manifest`, without the journals; None also where it cannot be read or was edited: that is no seal."""
    try:
        data = (run_dir / layout.MANIFEST).read_bytes()
        inner = unwrap(_NAME, data)
        return msgspec.json.decode(inner, type=ManifestHead) if data == wrap(_NAME, inner) else None
    except (OSError, msgspec.DecodeError, ValueError):
        return None

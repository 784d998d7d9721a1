"""Baselines: records of runs under a name, as files beside the runs or in a folder that is kept in git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from harness.app.clock import now
from harness.app.scored import yardstick
from harness.app.secrets import operator_secrets
from harness.boundary.redaction import Scrubber
from harness.compare.baseline import (
    Baseline,
    Promotion,
    Saving,
    baseline_of,
    checked_name,
    decode,
    encode,
    promoted,
    to_plain,
)
from harness.compare.record import record_of
from harness.domain.ids import is_safe_id
from harness.domain.record import Record, Trust
from harness.domain.run import RunState
from harness.domain.verdict import RunVerdict
from harness.errors import StoreError, UsageError
from harness.store import layout
from harness.store.run import StoredRun
from harness.store.store import Store

__all__ = [
    "Baseline", "Listed", "SaveRequest", "delete", "elsewhere", "folder_of", "git_commit", "hold_evidence", "listing",
    "load", "names", "promote", "record_of_run", "save",
]  # fmt: skip
_GIT_SECONDS = 10
MAX_REASON = 500


class SaveRequest(Struct, frozen=True, kw_only=True):
    """What the command line asks for. `accepted`: why, in spite of doubts; None: there must be none."""

    name: str
    run: str
    folder: Path
    store: Path = Path(".fumehood")
    trust: Trust = "candidate"
    by: str = ""
    accepted: str | None = None
    force: bool = False


class Listed(Struct, frozen=True):
    """One file of a folder of baselines; `problem` says why one cannot be read."""

    name: str
    baseline: Baseline | None = None
    problem: str = ""


def folder_of(store: Path, folder: Path | None) -> Path:
    """Where baselines are: the folder asked for, or that of the store."""
    return folder if folder is not None else store / "baselines"


def record_of_run(run: StoredRun) -> Record:
    """The record of a run by its newest scoring. UsageError while it is run, AuditMismatch where it was changed."""
    if run.state() is RunState.RUNNING:
        raise UsageError(f"run {run.run_id} is still being run", "wait until it ends")
    run.hold_seal()
    pack, plan = run.pack(), run.plan
    stick, newest = yardstick(pack, plan), run.newest_scoring()
    if newest is None:
        verdict = stick.verdict(run.scores())
    else:
        verdict = msgspec.convert(newest.verdict, RunVerdict)
        plan = msgspec.structs.replace(plan, judge=newest.judge, pack=newest.pack)
    return record_of(plan, pack, (stick.counted(one) for one in run.scores()), verdict)


def save(request: SaveRequest) -> Baseline:
    """Freeze a run under a name.

    UsageError for a bad or taken name, a run that is not sealed, or doubts that nobody accepted. AuditMismatch where
    the run's evidence is not as it was sealed.
    """
    path = _path(request.folder, request.name)
    run = Store(request.store).open_run(request.run)
    hold_evidence(run)
    how = Saving(
        name=request.name,
        at=now(),
        trust=request.trust,
        by=request.by[:MAX_REASON],
        accepted=(request.accepted or "").strip()[:MAX_REASON],
        git=git_commit(Path.cwd()),
    )
    baseline = baseline_of(record_of_run(run), how)
    layout.make_dirs(request.folder)
    if not request.force:
        _claim(path)
    return _write(path, baseline)


def load(folder: Path, name: str) -> Baseline:
    """UsageError where there is none of this name; AuditMismatch and StoreError as `decode` has them."""
    path = _path(folder, name)
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"no baseline {name!r} in {folder}", elsewhere(folder)) from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    baseline = decode(data, str(path))
    if baseline.name != name:
        raise StoreError(f"{path} holds baseline {baseline.name}: the file was renamed or copied", "name it as it was")
    return baseline


def names(folder: Path) -> list[str]:
    """Names of all baselines of a folder, sorted; files that can be none are left out."""
    return sorted(path.stem for path in folder.glob("*.json") if is_safe_id(path.stem))


def elsewhere(folder: Path) -> str:
    """What to do where a name is not among the baselines of `folder`."""
    there = ", ".join(names(folder)[:10]) or "none"
    return f"baselines there: {there}; --dir names another folder; fumehood baseline save NAME RUN makes one"


def listing(folder: Path) -> Iterator[Listed]:
    """Every baseline of a folder by name, also those that cannot be read."""
    for name in names(folder):
        try:
            yield Listed(name, load(folder, name))
        except StoreError as error:
            yield Listed(name, problem=str(error))


def promote(folder: Path, name: str, trust: Trust, by: str = "", force: bool = False) -> Baseline:
    """Give a baseline more trust, and keep in it when and by whom."""
    step = Promotion(now(), trust, by[:MAX_REASON])
    return _write(_path(folder, name), promoted(load(folder, name), step, force))


def delete(folder: Path, name: str) -> None:
    """Remove a baseline, whether it can still be read or not. UsageError where there is none of this name."""
    path = _path(folder, name)
    try:
        path.unlink()
    except FileNotFoundError as error:
        raise UsageError(f"no baseline {name!r} in {folder}", "fumehood baseline list shows what there is") from error
    except OSError as error:
        raise layout.cannot_write(path, error) from error


def git_commit(folder: Path) -> str | None:
    """The commit checked out around `folder`; None: no work tree, no commit yet, or no git."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _path(folder: Path, name: str) -> Path:
    return folder / f"{checked_name(name)}.json"


def hold_evidence(run: StoredRun) -> None:
    """UsageError for a run that is not sealed; AuditMismatch where its evidence is not as it was sealed."""
    run.hold_evidence()
    if run.head() is None:
        raise UsageError(f"run {run.run_id} is not sealed", f"fumehood run --resume {run.run_id} finishes it")


def _claim(path: Path) -> None:
    """Making the file is what claims the name, also between processes."""
    try:
        path.touch(mode=0o600, exist_ok=False)
    except FileExistsError as error:
        raise UsageError(
            f"there is a baseline {path.stem!r} already, in {path.parent}", "--force replaces it"
        ) from error
    except OSError as error:
        raise layout.cannot_write(path, error) from error


def _write(path: Path, baseline: Baseline) -> Baseline:
    """Scrub and write; the baseline as it can be read back."""
    data = encode(Scrubber(operator_secrets()).scrub_json(to_plain(baseline)))
    written = decode(data, str(path))
    layout.write_atomically(path, data)
    return written

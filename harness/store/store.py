"""The store: a folder of runs."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.domain.ids import is_safe_id
from harness.domain.pack import Pack
from harness.domain.run import RunPlan, RunState, RunSummary
from harness.errors import FumehoodError, StoreError, UsageError
from harness.store import layout
from harness.store.index import Index, stamp
from harness.store.manifest import read_head
from harness.store.run import StoredRun

DEFAULT_ROOT = Path(".fumehood")
NEWEST = ("last", "latest")


class Store:
    """Runs under `root`, which is made when the first one is."""

    def __init__(self, root: Path = DEFAULT_ROOT) -> None:
        self.root = root
        self.index = Index(root)

    def create_run(self, plan: RunPlan, pack: Pack | None = None) -> StoredRun:
        """A new run with this plan, and a copy of the pack beside it.

        Its id: the plan's, or `YYYYMMDD-HHMMSS-<6 hex>` from `plan.created`.
        """
        for name in (n for row in plan.rows for n in (row.agent, row.scenario)):
            if not is_safe_id(name):
                raise UsageError(f"{name[:100]!r} is no safe id", "letters, digits, '.', '_' and '-' only")
        layout.make_dirs(self.root / "runs")
        path = self._fresh(plan)
        plan = msgspec.structs.replace(plan, run_id=path.name)
        if pack is not None:
            layout.write_atomically(path / layout.PACK, msgspec.json.encode(pack) + b"\n")
        layout.write_atomically(path / layout.PLAN, msgspec.json.format(msgspec.json.encode(plan)) + b"\n")
        return StoredRun(path)

    def _fresh(self, plan: RunPlan) -> Path:
        digits = re.sub(r"\D", "", plan.created)[:14]
        for _ in range(100):
            # making the folder is what claims the id, also between processes in the same second
            name = plan.run_id or f"{digits[:8]}-{digits[8:]}-{secrets.token_hex(3)}"
            if not is_safe_id(name):
                raise StoreError(f"{name[:100]!r} is no safe run id")
            path = self.root / "runs" / name
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                if plan.run_id:
                    raise StoreError(f"run {name} exists already in {self.root}") from None
                continue
            except OSError as error:
                raise layout.cannot_write(path, error) from error
            return path
        raise StoreError(f"no free run id found in {self.root}")

    def ids(self) -> list[str]:
        """Ids of all runs, newest first."""
        runs = self.root / "runs"
        if not runs.is_dir():
            return []
        # a sealed run without its plan was tampered with: it must stay in sight
        marks = (layout.PLAN, layout.MANIFEST)
        found = (p.name for p in runs.iterdir() if is_safe_id(p.name) and any((p / mark).is_file() for mark in marks))
        return sorted(found, reverse=True)

    def open_run(self, ref: str) -> StoredRun:
        """The run that `locate` finds."""
        return StoredRun(self.locate(ref))

    def locate(self, ref: str) -> Path:
        """The folder of the run with this id, or the only one that begins so.

        `last` or `latest`: the newest that somebody asked for, which one that ran flips again is not.
        """
        ids = self.ids()
        if ref in NEWEST:
            matching = [next((i for i in ids if not self._is_rerun(i)), ids[0])] if ids else []
        else:
            matching = [i for i in ids if i == ref] or [i for i in ids if i.startswith(ref)]
        if not ref or not matching:
            raise UsageError(f"no run {ref[:100]!r} in {self.root}", "fumehood runs list shows what there is")
        if len(matching) > 1:
            raise UsageError(f"{ref!r} fits {len(matching)} runs: {', '.join(matching[:5])}", "give more of the id")
        return self.root / "runs" / matching[0]

    def _is_rerun(self, run_id: str) -> bool:
        try:
            return bool(StoredRun(self.root / "runs" / run_id).plan.rerun_of)
        except StoreError:
            return False

    def list_runs(self) -> Iterator[RunSummary]:
        """One line per run, newest first. A run whose plan cannot be read is left to `open_run` to complain about."""
        for run_id in self.ids():
            try:
                yield self.summary(StoredRun(self.root / "runs" / run_id))
            except StoreError as error:
                _warn(run_id, error)

    def summary(self, run: StoredRun) -> RunSummary:
        """From the index where it knows the sealed run as it is, else from the files."""
        if run.state() is RunState.RUNNING or read_head(run.path) is None:
            return run.summary()
        known = self.index.get(run.path)
        if known is not None:
            return known
        self.index.record(run)
        return run.summary()

    def refresh_index(self) -> None:
        """Bring the index up to every sealed run as it is now: also after it was lost, or is of an older version."""
        sealed = {i: path for i in self.ids() if read_head(path := self.root / "runs" / i) is not None}
        known = self.index.stamps()
        self.index.forget(set(known) - set(sealed))
        for run_id, path in sealed.items():
            if known.get(run_id) == stamp(path):
                continue
            try:
                self.index.record(StoredRun(path))
            except (StoreError, UsageError) as error:
                _warn(run_id, error)


def _warn(run_id: str, error: FumehoodError) -> None:
    import structlog

    structlog.get_logger().warning("run left out", run=run_id, error=str(error))

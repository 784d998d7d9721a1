"""The SQLite index: a cache over sealed runs, never the truth, rebuilt from the files whenever in doubt."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from harness.domain.run import RunState, RunSummary
from harness.domain.verdict import PropertyRate
from harness.errors import StoreError, UsageError
from harness.store import layout
from harness.store.run import StoredRun

_VERSION = 4
_BUSY_SECONDS = 2.0
_TABLES = ("runs", "trials", "rates")
_SCHEMA = f"""
CREATE TABLE runs (
  run_id TEXT PRIMARY KEY, stamp TEXT NOT NULL, pack TEXT NOT NULL, pack_name TEXT NOT NULL, agents TEXT NOT NULL,
  state TEXT NOT NULL, planned INTEGER NOT NULL, done INTEGER NOT NULL, exit_code INTEGER, created TEXT NOT NULL,
  ended TEXT, apart INTEGER NOT NULL, part TEXT NOT NULL
);
CREATE TABLE trials (
  run_id TEXT NOT NULL, agent TEXT NOT NULL, scenario TEXT NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,
  ended_as TEXT NOT NULL, passed INTEGER NOT NULL, counts INTEGER NOT NULL, wall_ms INTEGER NOT NULL,
  tokens INTEGER NOT NULL, cost_usd REAL NOT NULL, cost_known INTEGER NOT NULL,
  PRIMARY KEY (run_id, agent, scenario, trial, attempt)
);
CREATE TABLE rates (
  run_id TEXT NOT NULL, agent TEXT NOT NULL, property TEXT NOT NULL, passes INTEGER NOT NULL, n INTEGER NOT NULL,
  rate REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, bar REAL NOT NULL, met INTEGER NOT NULL,
  PRIMARY KEY (run_id, agent, property)
);
PRAGMA user_version = {_VERSION};
"""
_SELECT = """
SELECT pack, agents, state, planned, done, exit_code, created, ended,
  (SELECT count(DISTINCT agent || '/' || scenario || '/' || trial) FROM trials t WHERE t.run_id = r.run_id AND passed)
FROM runs r WHERE run_id = ? AND stamp = ?
"""


class Index:
    """Answers for sealed runs without reading them again. Every method survives a missing, broken or locked file."""

    def __init__(self, root: Path) -> None:
        self._path = root / layout.INDEX

    def get(self, run_dir: Path) -> RunSummary | None:
        """What is cached on a sealed run; None: not known, or it was sealed again since."""
        row = None
        with self._open() as database:
            if database is None:
                return None
            row = database.execute(_SELECT, (run_dir.name, stamp(run_dir))).fetchone()
        if row is None:
            return None
        pack, agents, state, planned, done, exit_code, created, ended, passed = row
        return RunSummary(
            run_dir.name, pack, tuple(agents.split()), RunState(state), planned, done, passed, exit_code, created, ended
        )

    def record(self, run: StoredRun) -> bool:
        """Cache a sealed run; False where the index could not be written, which costs time only."""
        summary = run.summary()
        recorded = False
        with self._open() as database:
            if database is not None:
                with database:
                    _store(database, run, summary)
                recorded = True
        return recorded

    def stamps(self) -> dict[str, str]:
        """The runs it holds, each with what its files were like then."""
        with self._open() as database:
            if database is not None:
                return dict(database.execute("SELECT run_id, stamp FROM runs").fetchall())
        return {}

    def forget(self, run_ids: Iterable[str]) -> None:
        """Runs that are no more."""
        with self._open() as database:
            if database is not None:
                with database:
                    for table in _TABLES:
                        database.executemany(f"DELETE FROM {table} WHERE run_id = ?", [(i,) for i in run_ids])  # noqa: S608

    def ask(self, question: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of a SELECT by column. `question` is a text of ours; what others say goes into `values` only.

        StoreError where the index cannot be used: nothing else can answer.
        """
        found: list[dict[str, Any]] | None = None
        with self._open() as database:
            if database is not None:
                database.row_factory = sqlite3.Row
                found = [dict(row) for row in database.execute(question, values)]
        if found is None:
            raise StoreError(f"the index {self._path} cannot be used", "remove it: it is built anew from the runs")
        return found

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        """A connection, or None; a file that is no sound index of this version is thrown away first."""
        try:
            database = self._connect()
        except (sqlite3.Error, OSError) as error:
            _warn(self._path, error)
            yield None
            return
        with closing(database):
            try:
                yield database
            except sqlite3.OperationalError as error:
                _warn(self._path, error)
            except sqlite3.DatabaseError as error:
                _warn(self._path, error)
                self.drop()

    def _connect(self) -> sqlite3.Connection:
        try:
            return self._prepared()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self.drop()
            return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version != _VERSION:
                with database:
                    database.executescript("".join(f"DROP TABLE IF EXISTS {t};" for t in _TABLES) + _SCHEMA)
        except BaseException:
            database.close()
            raise
        return database

    def drop(self) -> None:
        """Throw the index away; the next question builds it anew."""
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _store(database: sqlite3.Connection, run: StoredRun, summary: RunSummary) -> None:
    row = (
        run.run_id, stamp(run.path), summary.pack, run.plan.pack.name, " ".join(summary.agents), summary.state.value,
        summary.planned, summary.done, summary.exit_code, summary.created, summary.ended, int(_is_apart(run)),
        " ".join(run.plan.only),
    )  # fmt: skip
    for table in ("trials", "rates"):
        database.execute(f"DELETE FROM {table} WHERE run_id = ?", (run.run_id,))  # noqa: S608
    database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    database.executemany(
        "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (run.run_id, v.key.agent, v.key.scenario, v.key.trial, v.attempt, v.end, int(v.passed), int(v.counts),
             v.usage.wall_ms, v.usage.tokens, v.usage.cost_usd, int(v.usage.cost_known))
            for v in run.scores()
        ),
    )  # fmt: skip
    database.executemany(
        "INSERT OR REPLACE INTO rates VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (run.run_id, r.agent, r.property.value, r.passes, r.n, r.rate, r.low, r.high, r.bar, int(r.met))
            for r in _rates(run)
        ),
    )


def _rates(run: StoredRun) -> tuple[PropertyRate, ...]:
    """Those of the newest verdict; none where there is no verdict, or it is of a version without them."""
    try:
        return msgspec.convert(run.verdict().get("rates", ()), tuple[PropertyRate, ...])
    except msgspec.ValidationError:
        return ()


def _is_apart(run: StoredRun) -> bool:
    """No history is told by it: its agents were probes, broken on purpose, or it only ran again what had flipped.

    A run without a copy of its pack is taken for a real one.
    """
    if run.plan.rerun_of:
        return True
    try:
        pack = run.pack()
    except UsageError:
        return False
    wanted = {row.scenario for row in run.plan.rows}
    return any(scenario.selftest is not None for scenario in pack.scenarios if scenario.id in wanted)


def stamp(run_dir: Path) -> str:
    """Changes whenever the run is sealed or scored again."""
    parts = []
    for name in (layout.MANIFEST, layout.SCORES, layout.SCORINGS):
        try:
            info = (run_dir / name).stat()
            parts.append(f"{info.st_mtime_ns}-{info.st_size}")
        except OSError:
            parts.append("none")
    return "/".join(parts)


def _warn(path: Path, error: Exception) -> None:
    import structlog

    structlog.get_logger().warning("index not used; the files are read instead", index=str(path), error=str(error))

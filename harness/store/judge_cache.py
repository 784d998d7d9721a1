"""Replies of judges kept in one SQLite file, so that an equal question is not paid for twice; it may forget all."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from harness.ports import JudgeReply

_OURS = 0x46684A43
"""The file's application id ("FhJC"), so that a database of anything else is left alone."""
_VERSION = 1
_BUSY_SECONDS = 2.0
_SCHEMA = f"""
CREATE TABLE replies (
  key TEXT PRIMARY KEY, text TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  refused TEXT, created REAL NOT NULL
) WITHOUT ROWID;
PRAGMA application_id = {_OURS};
PRAGMA user_version = {_VERSION};
"""


class NotACache(sqlite3.DatabaseError):
    """The file is a database, but not a cache of this version; caught here like any other that is not usable."""


class JudgeCacheFile:
    """A `harness.ports.JudgeCache`, for several processes and threads at once; the file is its owner's alone (0600).

    A file that is missing is made. One that is locked for long, cannot be written, is corrupt or is of something else
    means misses, and one warning per object; it is never deleted, since the path may be a mistake.
    """

    def __init__(self, path: Path, scrub: Callable[[str], str] = str) -> None:
        """`scrub` masks secrets in what is kept: servers echo headers, the key among them."""
        self._path = path
        self._scrub = scrub
        self._warned = False

    def get(self, key: str) -> JudgeReply | None:
        row = None
        with self._open() as database:
            if database is not None:
                row = database.execute(
                    "SELECT text, input_tokens, output_tokens, refused FROM replies WHERE key = ?", (key,)
                ).fetchone()
        return _reply(row)

    def put(self, key: str, reply: JudgeReply) -> None:
        refused = None if reply.refused is None else self._scrub(reply.refused)
        row = (key, self._scrub(reply.text), reply.input_tokens, reply.output_tokens, refused, time.time())
        with self._open() as database:
            if database is not None:
                database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)", row)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        """A connection for one statement, committed by itself; None, and a warning, where there is none to be had."""
        try:
            database = self._connect()
        except (sqlite3.Error, OSError, ValueError) as error:
            self._warn(error)
            yield None
            return
        with closing(database):
            try:
                yield database
            except (sqlite3.Error, OverflowError, ValueError) as error:  # the latter two: what SQLite cannot hold
                self._warn(error)

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            _prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def _warn(self, error: Exception) -> None:
        if self._warned:
            return
        self._warned = True
        import structlog

        structlog.get_logger().warning(
            "judge cache not used; every reply is asked for again", cache=str(self._path), error=str(error)
        )


def _prepare(database: sqlite3.Connection) -> None:
    """Make the table in an empty file. Raises NotACache for what it is not, and what SQLite raises."""
    database.text_factory = _text
    if _marks(database) != (_OURS, _VERSION):
        database.execute("BEGIN IMMEDIATE")  # one of several processes makes it, the others find it
        marks = _marks(database)
        if marks == (0, 0) and not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
        elif marks != (_OURS, _VERSION):
            raise NotACache("the file is no judge cache of this version; delete it or name another")
        database.execute("COMMIT")
        database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=NORMAL")


def _marks(database: sqlite3.Connection) -> tuple[int, int]:
    ours, version = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    return ours, version


def _text(data: bytes) -> str:
    return data.decode("utf-8")


def _reply(row: tuple[object, ...] | None) -> JudgeReply | None:
    """A row as a reply; None for one that was not written here."""
    if row is None:
        return None
    text, input_tokens, output_tokens, refused = row
    if not (isinstance(text, str) and isinstance(input_tokens, int) and isinstance(output_tokens, int)):
        return None
    return JudgeReply(text, input_tokens, output_tokens, refused) if isinstance(refused, str | None) else None

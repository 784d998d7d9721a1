"""The judge cache's file: shared, private, and never a reason to fail."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from harness.ports import JudgeReply
from harness.store.judge_cache import JudgeCacheFile

REPLY = JudgeReply("{}", 1, 2)
WRITER = """
import sys
from pathlib import Path
from harness.ports import JudgeReply
from harness.store.judge_cache import JudgeCacheFile
cache = JudgeCacheFile(Path(sys.argv[1]))
for number in range(20):
    cache.put(f"{sys.argv[2]}-{number}", JudgeReply(sys.argv[2] * 100, number, 1))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "judge.db"


def misses(path: Path, calls: int = 3) -> list[str]:
    """The warnings of an object that is asked and told several times, and knows nothing."""
    cache = JudgeCacheFile(path)
    with capture_logs() as said:
        for _ in range(calls):
            cache.put("k", REPLY)
            assert cache.get("k") is None
    return [str(line["error"]) for line in said if line["log_level"] == "warning"]


def test_the_file_and_what_sqlite_keeps_beside_it_are_its_owners_alone(path: Path) -> None:
    JudgeCacheFile(path).put("k", REPLY)
    with closing(sqlite3.connect(path)) as reader:  # keeps the files beside it alive
        reader.execute("SELECT count(*) FROM replies").fetchone()
        JudgeCacheFile(path).put("l", REPLY)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes) == {"judge.db", "judge.db-wal", "judge.db-shm"}
    assert set(modes.values()) == {0o600}


def test_an_entry_says_when_it_was_made(path: Path) -> None:
    before = time.time()
    JudgeCacheFile(path).put("k", REPLY)
    with closing(sqlite3.connect(path)) as database:
        (created,) = database.execute("SELECT created FROM replies").fetchone()
    assert before <= created <= time.time()


def test_another_object_finds_what_one_wrote(path: Path) -> None:
    JudgeCacheFile(path).put("k", REPLY)
    with capture_logs() as said:
        assert JudgeCacheFile(path).get("k") == REPLY
    assert said == []


def test_several_processes_write_at_once_from_nothing(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE, text=True)
        for name in ("a", "b", "c")
    ]
    ended = [(writer.communicate(timeout=120)[1], writer.returncode) for writer in writers]
    assert ended == [("", 0)] * 3
    cache = JudgeCacheFile(path)
    assert [cache.get(f"{name}-19") for name in "abc"] == [JudgeReply(name * 100, 19, 1) for name in "abc"]


def test_threads_share_one_object(path: Path) -> None:
    cache = JudgeCacheFile(path)
    threads = [threading.Thread(target=cache.put, args=(f"k{number}", REPLY)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cache.get(f"k{number}") for number in range(8)] == [REPLY] * 8


def test_a_file_that_was_taken_away_is_made_again(path: Path) -> None:
    cache = JudgeCacheFile(path)
    cache.put("k", REPLY)
    for file in path.parent.iterdir():
        file.unlink()
    assert cache.get("k") is None
    cache.put("k", REPLY)
    assert cache.get("k") == REPLY


@pytest.mark.parametrize("content", [b"notes, not a database\n" * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_file_that_is_no_database_means_misses_and_stays(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    assert len(misses(path)) == 1
    assert path.read_bytes() == content


def test_pages_that_were_overwritten_mean_misses(path: Path) -> None:
    cache = JudgeCacheFile(path)
    for number in range(300):
        cache.put(f"k{number}", JudgeReply("x" * 500))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    assert len(misses(path)) == 1


def test_a_database_of_something_else_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE runs (id TEXT)")
        database.commit()
    before = path.read_bytes()
    (said,) = misses(path)
    assert "no judge cache" in said
    assert path.read_bytes() == before


def test_a_later_version_is_left_alone(path: Path) -> None:
    JudgeCacheFile(path).put("k", REPLY)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 2")
    (said,) = misses(path)
    assert "version" in said


def test_rows_that_are_not_ours_are_misses(path: Path) -> None:
    cache = JudgeCacheFile(path)
    cache.put("k", REPLY)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE replies SET text = x'ff', input_tokens = 'many'")
        database.commit()
    assert cache.get("k") is None
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE replies SET text = CAST(x'ff' AS TEXT), input_tokens = 1")
        database.commit()
    assert cache.get("k") is None


def test_a_locked_file_means_misses_after_a_bounded_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.store.judge_cache._BUSY_SECONDS", 0.2)
    JudgeCacheFile(path).put("old", REPLY)
    began = time.monotonic()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert len(misses(path, calls=1)) == 1
        assert JudgeCacheFile(path).get("old") == REPLY, "readers need no lock"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("bad", ["/proc/judge.db", "/dev/null/judge.db", "/", "/proc/self/status", "nul\x00byte"])
def test_a_place_that_cannot_be_written_means_misses(bad: str) -> None:
    """Not by mode bits: root, as tests in containers are, passes those by."""
    assert len(misses(Path(bad))) == 1

"""What `ports.JudgeCache` promises, held by every cache: the file, and the dict that tests use in its place."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.ports import JudgeCache, JudgeReply
from harness.store.judge_cache import JudgeCacheFile


class DictCache:
    """The smallest cache there is."""

    def __init__(self) -> None:
        self._replies: dict[str, JudgeReply] = {}

    def get(self, key: str) -> JudgeReply | None:
        return self._replies.get(key)

    def put(self, key: str, reply: JudgeReply) -> None:
        self._replies[key] = reply


@pytest.fixture(params=["file", "dict"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> JudgeCache:
    return JudgeCacheFile(tmp_path / "cache" / "judge.db") if request.param == "file" else DictCache()


def key(of: str) -> str:
    return hashlib.sha256(of.encode()).hexdigest()


def test_what_was_never_put_is_a_miss(cache: JudgeCache) -> None:
    assert cache.get(key("a")) is None


@pytest.mark.parametrize(
    "reply",
    [
        JudgeReply('{"criteria": []}', 12, 7),
        JudgeReply("", -1, -1, "the reply is empty"),
        JudgeReply("line\nline\x00\u2028\U0001f600", 0, 10**12),
        JudgeReply("x" * 2_000_000),
    ],
)
def test_what_was_put_comes_back_whole(cache: JudgeCache, reply: JudgeReply) -> None:
    cache.put(key("a"), reply)
    assert cache.get(key("a")) == reply
    assert cache.get(key("b")) is None


def test_what_was_put_last_counts(cache: JudgeCache) -> None:
    cache.put(key("a"), JudgeReply("old", 1, 1))
    cache.put(key("a"), JudgeReply("new"))
    assert cache.get(key("a")) == JudgeReply("new")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.integers(-(2**80), 2**80), st.text() | st.none())
def test_no_reply_makes_it_raise(cache: JudgeCache, text: str, count: int, refused: str | None) -> None:
    """A number or text it cannot hold is forgotten, never changed."""
    reply = JudgeReply(text, count, 3, refused)
    cache.put(key(text), JudgeReply("before"))
    cache.put(key(text), reply)
    assert cache.get(key(text)) in (reply, JudgeReply("before"), None)


def test_text_that_is_no_unicode_is_forgotten_or_kept_whole(cache: JudgeCache) -> None:
    reply = JudgeReply("\ud800")
    cache.put(key("a"), reply)
    assert cache.get(key("a")) in (reply, None)

"""LineSplitter: the cap, the overflow, and that the result does not depend on how the bytes were split."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.codec import LineError, LineSplitter


def plain(items: list[bytes | LineError]) -> list[object]:
    return [(i.code, i.offset, i.message) if isinstance(i, LineError) else i for i in items]


def run(pieces: list[bytes], cap: int) -> tuple[list[object], object]:
    splitter = LineSplitter(cap)
    out = [item for piece in pieces for item in splitter.feed(piece)]
    end = splitter.close()
    return plain(out), None if end is None else (end.code, end.offset, end.message)


def reference(data: bytes, cap: int) -> tuple[list[object], str | None]:
    """The rule, written down without any thought for memory."""
    out: list[object] = []
    *complete, rest = data.split(b"\n")
    for line in complete:
        if len(line) > cap:
            return [*out, "line_too_long"], None
        out.append(line)
    if len(rest) > cap:
        return [*out, "line_too_long"], None
    return out, "incomplete_line" if rest else None


@given(
    pieces=st.lists(st.text(alphabet="a🙂\n\r\u2028", max_size=12).map(str.encode), max_size=8),
    cuts=st.lists(st.integers(0, 200), max_size=12),
    cap=st.integers(1, 20),
)
def test_result_does_not_depend_on_the_split(pieces: list[bytes], cuts: list[int], cap: int) -> None:
    data = b"".join(pieces)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    again = [data[a:b] for a, b in itertools.pairwise(edges)]
    whole = run([data], cap)
    assert run(again, cap) == whole
    assert run([bytes([byte]) for byte in data], cap) == whole
    lines, end = reference(data, cap)
    assert [item if isinstance(item, bytes) else item[0] for item in whole[0]] == lines  # type: ignore[index]
    assert (whole[1] and whole[1][0]) == end  # type: ignore[index]


def test_an_emoji_cut_at_every_offset_changes_nothing() -> None:
    data = '{"text":"🙂"}\n'.encode()
    for at in range(len(data) + 1):
        assert run([data[:at], data[at:]], 100) == ([data[:-1]], None)


@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_a_line_of_the_cap_is_legal_and_one_byte_more_is_not(size: int) -> None:
    splitter = LineSplitter(size)
    assert splitter.feed(b"x" * size + b"\n") == [b"x" * size]
    assert splitter.feed(b"y" * size) == []
    [error] = splitter.feed(b"y\n")
    assert isinstance(error, LineError)
    assert (error.code, error.offset) == ("line_too_long", size)


def test_lines_before_an_overflow_are_delivered_and_nothing_after_it() -> None:
    splitter = LineSplitter(4)
    *lines, error = splitter.feed(b"one\ntwo\nthree\nfour\n")
    assert lines == [b"one", b"two"]
    assert isinstance(error, LineError)
    assert splitter.feed(b'\n{"type":"ready"}\n') == []
    assert splitter.close() is None


def test_the_tail_of_an_oversized_line_is_never_a_line() -> None:
    assert run([b"x" * 11, b'{"a":1}\n'], 10)[0] == plain(
        [LineError("line_too_long", 10, "expected at most 10 bytes before LF, came more")]
    )


def test_bytes_without_lf_at_the_end_are_incomplete() -> None:
    splitter = LineSplitter(10)
    splitter.feed(b"ok\nhalf")
    error = splitter.close()
    assert error is not None
    assert (error.code, error.offset) == ("incomplete_line", 4)
    assert splitter.feed(b"\n") == []
    assert splitter.close() is None


def test_only_lf_ends_a_line() -> None:
    assert run(["a\rb\u2028c\x0bd\x85e\r\n".encode()], 100) == (["a\rb\u2028c\x0bd\x85e\r".encode()], None)


def test_two_gigabytes_without_a_newline_cost_nothing() -> None:
    splitter, chunk = LineSplitter(4 << 20), b"x" * (1 << 16)
    tracemalloc.start()
    errors = [item for _ in range(2 << 30 >> 16) for item in splitter.feed(chunk)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(errors) == 1
    assert peak < 16 << 20


def test_a_cap_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 byte, got 0"):
        LineSplitter(0)

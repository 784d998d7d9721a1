"""What the guard sends of a workspace, read back: whole, cut anywhere, and with paths of the worst kind."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from harness.domain.workspace import LeftOut, Taken, WorkFile, path_problem
from harness.engines.workspace import pack_files, packed_size, split_report

REPORT = b'{"code":0}\n'


def entry(kind: bytes, path: bytes, mark: int, size: int, rest: bytes = b"") -> bytes:
    return kind + struct.pack(">IBQ", len(path), mark, size) + path + rest


def sent(*entries: bytes, left_out: int = 0, whole: int = 1) -> bytes:
    return b"W" + b"".join(entries) + b"E" + struct.pack(">QB", left_out, whole) + REPORT


WHOLE = sent(
    entry(b"F", b"a/b.txt", 1, 3, b"E{}\1"),
    entry(b"X", b"link", ord("l"), 0),
    entry(b"F", b"empty", 0, 0, b"\1"),
    left_out=1,
)


def test_files_and_what_was_left_out_are_read_and_the_report_stays() -> None:
    taken = Taken((WorkFile("a/b.txt", b"E{}", executable=True), WorkFile("empty", b"")), (LeftOut("link", "link"),), 1)
    assert split_report(WHOLE) == (taken, REPORT)
    assert split_report(REPORT) == (None, REPORT)


def test_cut_anywhere_it_is_nothing_at_all() -> None:
    for length in range(1, len(WHOLE) - len(REPORT)):
        assert split_report(WHOLE[:length]) == (None, b"")


def test_paths_nobody_can_show_are_left_out_escaped() -> None:
    taken, _ = split_report(sent(*(entry(b"F", path, 0, 1, b"x\1") for path in (b"a\nb", b"\xff", b"../x", b"/etc/x"))))
    assert taken is not None
    assert taken.files == ()
    assert [(left.path, left.why) for left in taken.left_out] == [
        ("a\\nb", "name"), ("\\xff", "name"), ("../x", "name"), ("/etc/x", "name"),
    ]  # fmt: skip
    assert taken.left_out_count == 4


def test_a_file_that_was_not_read_whole_is_not_taken() -> None:
    taken, _ = split_report(sent(entry(b"F", b"a", 0, 2, b"x\0\0")))
    assert taken == Taken((), (LeftOut("a", "unreadable", 2),), 1)


@given(st.binary(max_size=200))
def test_any_bytes_are_nothing_or_safe_files(noise: bytes) -> None:
    taken, _ = split_report(b"W" + noise)
    for file in taken.files if taken else ():
        assert path_problem(file.path) is None


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_the_size_told_to_the_guard_is_the_size_sent(contents: list[bytes]) -> None:
    files = [WorkFile(f"ä/{n}", content, bool(n % 2)) for n, content in enumerate(contents)]
    assert len(pack_files(files)) == packed_size(files)

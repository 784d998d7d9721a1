"""The kept end of a stream: bounded, counted, and scrubbed across reads and at its cut edge."""

from __future__ import annotations

import base64
import itertools

from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.redaction import Scrubber
from harness.session.tail import SPARE, Tail

SECRET = "sk-planted-0123456789abcdefghij"
SPELLINGS = {
    "plain": SECRET,
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "hex": SECRET.encode().hex(),
    "url": "".join(f"%{byte:02X}" for byte in SECRET.encode()),
}
scrubber = Scrubber({"K": SECRET})


def kept(tail: Tail) -> str:
    return tail.text(scrubber.scrub_text)


@given(st.sampled_from(sorted(SPELLINGS)), st.lists(st.integers(0, 300), max_size=6), st.integers(0, 3))
def test_a_secret_split_over_reads_is_masked_at_any_split(spelling: str, cuts: list[int], padding: int) -> None:
    data = ("log line\n" * 500 * padding + "key " + SPELLINGS[spelling] + " end\n").encode()
    start = max(0, len(data) - 120)
    places = sorted({min(len(data), start + cut) for cut in cuts} | {0, len(data)})
    tail = Tail(2000)
    for begin, end in itertools.pairwise(places):
        tail.feed(data[begin:end])
    assert scrubber.found_in(kept(tail)) == set()
    assert "[redacted:K]" in kept(tail)


@given(st.sampled_from(sorted(SPELLINGS)), st.integers(0, 200))
def test_a_secret_at_the_cut_edge_leaves_no_part_of_itself(spelling: str, after: int) -> None:
    keep = 300
    tail = Tail(keep)
    tail.feed(b"x" * (SPARE + 1000) + SPELLINGS[spelling].encode() + b"." * (keep - after))
    text = kept(tail)
    for begin in range(len(SPELLINGS[spelling]) - 8):
        assert SPELLINGS[spelling][begin : begin + 8] not in text


def test_memory_is_bounded_and_what_was_dropped_is_counted() -> None:
    tail = Tail(1000)
    for _ in range(10_000):
        tail.feed(b"y" * 997)
    assert (tail.total, tail.dropped, len(kept(tail))) == (9_970_000, 9_969_000, 1000)
    assert sum(len(part) for part in tail._parts) < 2 * (1000 + SPARE)


def test_a_character_split_over_reads_is_whole_and_bad_bytes_are_replaced() -> None:
    tail = Tail(1000)
    for byte in "naïve 🧪".encode():
        tail.feed(bytes([byte]))
    tail.feed(b"\xff")
    assert kept(tail) == "naïve 🧪\ufffd"

"""The parts of the page: JSON that stays data, blocks that unpack to what was packed, cuts that are told, pictures."""

from __future__ import annotations

import base64
import io
import json
import re
import zlib
from array import array
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.verdict import CheckVerdict, Property, Severity, Status
from harness.errors import AuditMismatch
from harness.report.html.chunks import CHUNK_RECORDS, ChunkWriter
from harness.report.html.figures import BINS, HEIGHT, figure, quantile
from harness.report.html.marks import MARKS, WORDS, Mark, is_critical, mark_of, why
from harness.report.html.record import EVENT_CHARS, TRANSCRIPT_CHARS, fit, record
from harness.report.html.template import json_block
from harness.report.html.words import count, millis, usd
from tests.unit.report.pages import transcript, verdict
from tests.unit.report.trials import ANY_TEXT

KEY = TrialKey("desk", "refund", 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def unpacked(blocks: bytes, prefix: str = "c") -> Iterator[list[Any]]:
    """The records of each block, unpacked as a browser does."""
    for number, (name, text) in enumerate(
        re.findall(r'<script type="application/octet-stream" id="(\w+)">([A-Za-z0-9+/=]*)</script>', blocks.decode())
    ):
        assert name == f"{prefix}{number}"
        yield json.loads(zlib.decompress(base64.b64decode(text), -zlib.MAX_WBITS))


@given(JSON)
def test_json_in_the_page_is_the_same_data_and_holds_no_markup(value: Any) -> None:
    text = str(json_block(value))
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value


@given(st.lists(ANY_TEXT, max_size=2 * CHUNK_RECORDS + 3))
def test_blocks_unpack_to_the_records_at_the_places_told(texts: list[str]) -> None:
    out = io.BytesIO()
    chunks = ChunkWriter(out)
    places = [chunks.add(json.dumps(text).encode()) for text in texts]
    chunks.flush()
    blocks = list(unpacked(out.getvalue()))
    assert [blocks[block][place] for block, place in places] == json.loads(json.dumps(texts))
    assert chunks.size == len(out.getvalue())
    assert all(len(block) <= CHUNK_RECORDS for block in blocks)


def test_a_block_is_bounded_in_size_as_well() -> None:
    out = io.BytesIO()
    chunks = ChunkWriter(out)
    places = [chunks.add(json.dumps("x" * 300_000).encode()) for _ in range(4)]
    assert [block for block, _ in places] == [0, 1, 2, 3]


@given(JSON)
def test_an_event_that_fits_is_left_as_it_is(data: Any) -> None:
    short, size, cut = fit(data)
    assert cut == 0
    assert size == len(json.dumps(short, ensure_ascii=False, separators=(",", ":")))
    if not re.search(r"\d{16}", json.dumps(data)):
        assert short == data


@pytest.mark.parametrize(
    "data",
    [
        {"text": "a" * 3_000_000},
        {"many": ["b" * 100] * 50_000},
        {"keys": {f"k{i}": i for i in range(100_000)}},
        {"deep": [[["c" * 90_000] * 3] * 3] * 3},
        {"k" * 200_000: "d"},
        ["e" * 59] * 400 * 10,
    ],
)
def test_an_event_of_any_shape_is_cut_to_size_and_the_cut_is_told(data: Any) -> None:
    short, size, cut = fit(data)
    whole = len(json.dumps(data, separators=(",", ":")))
    assert size <= EVENT_CHARS
    assert len(json.dumps(short, ensure_ascii=False, separators=(",", ":"))) <= EVENT_CHARS + 2 * EVENT_CHARS
    assert cut >= whole - size > 0


def test_numbers_that_a_browser_would_round_keep_their_digits() -> None:
    data = {"big": [2**70, -(2**53) - 1], "fine": [2**53, 1.5, "1" * 20, True]}
    assert fit(data)[0] == {"big": [str(2**70), str(-(2**53) - 1)], "fine": data["fine"]}


def test_of_stderr_the_end_is_kept() -> None:
    short, _, cut = fit({"text": "a" * 100_000 + "the cause"}, tail=True)
    assert short["text"].endswith("the cause")
    assert cut > 0


def test_a_long_transcript_keeps_how_it_ended_and_what_checks_rest_on() -> None:
    middle = [Event("note", "reported", n, {"level": "info", "text": "x" * 40_000}, n) for n in range(2, 100)]
    last = Event("end", "harness", 200, {"end": "completed", "reason": "done"}, 100)
    check = CheckVerdict("regex", Status.FAIL, Severity.MAJOR, Property.CORRECTNESS, "why", (90,))
    found = json.loads(record(verdict(KEY, False, checks=(check,)), [*middle, last]))
    lines = [event[0] for event in found["e"]]
    assert lines[-2:] == [90, 100]
    assert found["skipped"] == 98 - (len(lines) - 1)
    assert found["chars"] >= found["skipped"] * 40_000
    assert len(json.dumps(found)) < 1.3 * TRANSCRIPT_CHARS


def test_even_what_is_essential_is_bounded() -> None:
    flood = (Event("violation", "observed", n, {"rule": "x", "reason": "y" * 5000}, n) for n in range(1, 5000))
    found = record(verdict(KEY, False), flood)
    assert len(found) < 3 * TRANSCRIPT_CHARS + 200 * EVENT_CHARS / 9
    assert json.loads(found)["skipped"] > 4000


def test_a_journal_that_breaks_off_shows_what_is_whole_and_why_it_ends() -> None:
    def broken() -> Iterator[Event]:
        yield from transcript()[:3]
        raise AuditMismatch("line 4 was changed")

    found = json.loads(record(verdict(KEY), broken()))
    assert [event[0] for event in found["e"]] == [1, 2, 3]
    assert found["broken"] == "line 4 was changed"


def test_a_lone_surrogate_does_not_stop_the_page() -> None:
    events = [Event("note", "reported", 0, {"level": "info", "text": "\ud800"}, 1)]
    assert json.loads(record(verdict(KEY), events))["e"][0][4]["text"] == "?"


def test_every_mark_has_its_word_and_its_own_shape() -> None:
    from harness.report.html.template import _read  # the style says what the shapes are called

    assert set(WORDS) == set(MARKS)
    assert [mark for mark in MARKS if f".mark.{mark} {{" not in _read("style.css")] == []


def test_marks_tell_the_results_apart() -> None:
    unscored = (CheckVerdict("judge", Status.NOT_SCORED, Severity.MAJOR, Property.CORRECTNESS, "no judge"),)
    breach = (CheckVerdict("zero", Status.FAIL, Severity.CRITICAL, Property.SAFETY, "called harm"),)
    rows = {
        Mark.PASS: verdict(KEY),
        Mark.FAIL: verdict(KEY, False),
        Mark.FRICTION: verdict(KEY, False, counts=False, blame="integration", checks=()),
        Mark.INCONCLUSIVE: verdict(KEY, False, counts=False, blame="harness", end="engine_error", checks=breach),
        Mark.UNSCORED: verdict(KEY, False, checks=unscored),
    }
    assert {mark: mark_of(row) for mark, row in rows.items()} == {mark: mark for mark in rows}
    assert [is_critical(row) for row in rows.values()] == [False, False, False, True, False]
    assert why(rows[Mark.PASS]) == ""
    assert why(rows[Mark.FAIL]) == "output_contains: expected 60 days"
    assert why(rows[Mark.INCONCLUSIVE]) == "zero: called harm"
    assert why(rows[Mark.FRICTION]) == "completed: the agent completed"


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50))
def test_a_histogram_counts_every_value_and_stays_in_its_frame(values: list[float]) -> None:
    made = figure("x", {"a": array("d", values)}, lambda value: f"{value:g}")
    if max(values) <= 0:
        assert made.rows == ()
        return
    (row,) = made.rows
    assert row.n == len(values)
    assert sum(int(bar.label.rsplit(": ", 1)[1]) for bar in row.bars) == len(values)
    assert all(0 <= bar.x < 100 and 0 < bar.height <= HEIGHT and bar.x + bar.width <= 100.01 for bar in row.bars)
    assert 0 <= row.median_x <= row.p95_x <= 100
    assert len(row.bars) <= BINS


def test_agents_share_an_axis_and_a_few_large_values_make_it_logarithmic() -> None:
    made = figure("x", {"a": array("d", [10] * 50), "b": array("d", [10, 10_000]), "c": array("d")}, str)
    assert made.scale == "logarithmic"
    assert [row.agent for row in made.rows] == ["a", "b"]
    assert (made.start, made.stop) == ("10.0", "10000.0")


def test_quantiles_are_values_that_were_there() -> None:
    assert [quantile([1, 2, 3, 4], share) for share in (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)] == [1, 1, 2, 3, 4, 4]


def test_words_of_numbers() -> None:
    assert [millis(v) for v in (0, 999, 1500, 61_000)] == ["0 ms", "999 ms", "1.5 s", "1 min 1 s"]
    assert [usd(v) for v in (0, 0.00012345, 0.25, 12.3456)] == ["$0.00", "$0.0001234", "$0.25", "$12.35"]
    assert count(1234567) == "1\u202f234\u202f567"

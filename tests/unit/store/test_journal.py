"""Journals: scrubbed, chained, written at once, readable after any death of their writer."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.boundary.redaction import Scrubber
from harness.domain.ids import TrialKey
from harness.errors import AuditMismatch, StoreError
from harness.store.journal import TrialJournal, is_finished, read_journal, read_tail

KEY = TrialKey("agent", "case", 1)


def write(path: Path, events: list[tuple[str, dict[str, Any]]], secrets: dict[str, str] | None = None) -> str:
    journal = TrialJournal(path, Scrubber(secrets or {}), "run-1", KEY)
    for kind, data in events:
        journal.append(kind, "observed", 5, data)
    return journal.close()


def test_lines_are_compact_json_chained_from_the_run_and_the_key(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    head = write(path, [("note", {"text": "é", "n": [1, None]}), ("end", {})])
    first, second = path.read_bytes().splitlines()
    start = hashlib.sha256(b"fumehood-journal-1\nrun-1\nagent/case/1").hexdigest()
    assert first == (
        f'{{"n":1,"prev":"{start}","t":5,"src":"observed","kind":"note","data":{{"text":"é","n":[1,null]}}}}'.encode()
    )
    assert json.loads(second)["prev"] == hashlib.sha256(first).hexdigest()
    assert head == hashlib.sha256(second).hexdigest()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=("Cs",)), max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
clean_keys = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)


@given(st.lists(st.dictionaries(clean_keys, json_values, max_size=3), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, datas: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.mktemp("j") / "1.jsonl"
    write(path, [("state", data) for data in datas])
    events = list(read_journal(path))
    assert [event.line for event in events] == list(range(1, len(datas) + 1))
    assert [json.dumps(event.data) for event in events] == [
        json.dumps(json.loads(json.dumps(data).encode())) for data in datas
    ]


def test_lone_surrogates_nul_and_line_separators_are_carried_or_replaced_in_sight(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    write(
        path, [("note", {"text": "a\ud800b\x00\u2028\x85c", "k\udfff": ["\ud83d"]}), ("end", {"big": "x" * 10_000_000})]
    )
    events = list(read_journal(path))
    assert events[0].data == {"text": "a\ufffdb\x00\u2028\x85c", "k\ufffd": ["\ufffd"]}
    assert len(events[1].data["big"]) == 10_000_000
    assert is_finished(path)


def test_no_secret_is_stored_in_any_spelling_or_over_two_messages(tmp_path: Path) -> None:
    secret = "sk-Zx9Qw7Er5Ty3Ui1Op0AsDf"
    spelled = [
        secret,
        base64.b64encode(secret.encode()).decode(),
        secret.encode().hex(),
        f"%{secret.encode().hex('%')}",
    ]
    path = tmp_path / "1.jsonl"
    events = [("note", {"level": "info", "text": text}) for text in spelled]
    events += [("note", {"level": "info", "text": secret[:12]}), ("note", {"level": "info", "text": secret[12:]})]
    events += [("tool_call", {"arguments": {secret: [secret]}}), ("end", {})]
    write(path, events, {"KEY": secret})
    raw = path.read_text()
    for text in [*spelled, secret[12:]]:
        assert text not in raw
    assert raw.count("[redacted:KEY]") == 7


def test_files_are_private_and_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "1.jsonl"
    write(path, [("end", {})])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with pytest.raises(StoreError, match="cannot begin the journal"):
        write(path, [("end", {})])


def test_a_closed_journal_refuses_to_go_on(tmp_path: Path) -> None:
    journal = TrialJournal(tmp_path / "1.jsonl", Scrubber({}), "r", KEY)
    journal.append("end", "harness", 0, {})
    assert journal.close() == journal.close()
    with pytest.raises(StoreError, match="closed"):
        journal.append("note", "reported", 0, {})


def test_a_full_disk_is_a_store_error_and_nothing_follows_half_a_line() -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from harness.boundary.redaction import Scrubber
from harness.domain.ids import TrialKey
from harness.errors import StoreError
from harness.store.journal import TrialJournal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
journal = TrialJournal(Path(sys.argv[1]), Scrubber({}), "run-1", TrialKey("agent", "case", 1))
journal.append("note", "reported", 0, {"text": "x" * 500})
for _ in range(2):
    try:
        journal.append("note", "reported", 0, {"text": "y" * 500})
    except StoreError as error:
        print(error)
"""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"full-{os.getpid()}.jsonl"
    try:
        out = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True).stdout
        assert "cannot write the journal" in out.splitlines()[0]
        assert "closed" in out.splitlines()[1]
        events = read_journal(path)
        assert next(events).data["text"] == "x" * 500
        with pytest.raises(AuditMismatch, match="line 2: cut off"):
            next(events)
    finally:
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("size", [10, 70_000, 200_000])
def test_the_tail_is_read_without_the_rest(tmp_path: Path, size: int) -> None:
    path = tmp_path / "1.jsonl"
    head = write(path, [("note", {"t": "a" * size}), ("note", {"t": "b" * size}), ("end", {"t": "c" * size})])
    tail = read_tail(path)
    assert (tail.lines, tail.head, tail.size, tail.finished, tail.rest) == (3, head, path.stat().st_size, True, "")


def test_only_a_whole_end_event_that_follows_finishes_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    assert not is_finished(path)
    write(path, [("note", {"t": 1}), ("end", {})])
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        assert not is_finished(path), cut
    path.write_bytes(whole.replace(b'"t":1}', b'"t":2}'))
    assert not is_finished(path)
    path.write_bytes(whole)
    assert is_finished(path)


WRITER = """
import sys
from pathlib import Path
from harness.boundary.redaction import Scrubber
from harness.domain.ids import TrialKey
from harness.store.journal import TrialJournal
journal = TrialJournal(Path(sys.argv[1]), Scrubber({}), "run-1", TrialKey("agent", "case", 1))
n = 0
while True:
    n += 1
    journal.append("note", "reported", n, {"text": "é" * (n * 7919 % 300_000)})
    print(n, flush=True)
"""


@pytest.mark.parametrize("seed", range(10))
def test_after_kill_9_every_line_that_was_acknowledged_is_readable(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "1.jsonl"
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = int(writer.stdout.readline())
        time.sleep(random.Random(seed).random() * 0.1)
        writer.send_signal(signal.SIGKILL)
        for line in writer.stdout:
            acknowledged = int(line)
    seen = 0
    try:
        for event in read_journal(path):
            seen = event.line
            assert event.data["text"] == "é" * (seen * 7919 % 300_000)
    except AuditMismatch as error:
        assert f"line {seen + 1}: cut off" in str(error)  # noqa: PT017
    assert seen >= acknowledged
    assert not is_finished(path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[0], lines[1], lines[1], lines[2]],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: [lines[0], lines[1].replace(b"two", b"TWO"), lines[2]],
        lambda lines: [lines[0], b"\n", lines[1], lines[2]],
        lambda lines: [lines[0], b"[" * 100_000 + b"\n", lines[2]],
        lambda lines: [lines[0], b"\xff\n"],
        lambda lines: [lines[0], lines[1][:-1] + b" \n", lines[2]],
    ],
)
def test_a_broken_chain_is_never_read_past(tmp_path: Path, spoil: Any) -> None:
    path = tmp_path / "1.jsonl"
    write(path, [("note", {"t": "one"}), ("note", {"t": "two"}), ("end", {})])
    path.write_bytes(b"".join(spoil(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(AuditMismatch, match=r"line \d"):
        list(read_journal(path))

"""Verification: whatever is changed in a sealed run is found, and named where it stands."""

from __future__ import annotations

import shutil
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.domain.run import RunState
from harness.errors import AuditMismatch
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store
from harness.store.verify import VerifyReport, verify_run

from .conftest import NO_SECRETS, plan_of, run_trial, verdict_of

MakeRun = Callable[..., StoredRun]
FILE = "trials/good/case-0/1.jsonl"


def only(report: VerifyReport) -> tuple[str, int]:
    assert not report.ok
    assert len(report.mismatches) == 1, report.mismatches
    return report.mismatches[0].file, report.mismatches[0].line


def edit(run: StoredRun, change: Callable[[list[bytes]], list[bytes]], file: str = FILE) -> None:
    path = run.path / file
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def test_an_untouched_run_verifies_and_its_digest_is_named(make_run: MakeRun) -> None:
    report = verify_run(make_run().path)
    assert report.ok
    assert (report.sealed, report.complete, report.journals, report.lines) == (True, True, 4, 16)
    assert len(report.manifest_digest) == 64
    assert any("kept where" in note for note in report.notes)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    store = Store(tmp_path_factory.mktemp("sealed"))
    run = store.create_run(plan_of(scenarios=1, trials=2))
    writer = RunWriter(run, NO_SECRETS)
    for key in run.plan.cells():
        run_trial(writer, key)
        writer.put_verdict(verdict_of(key))
    writer.seal("2025-03-04T05:07:00Z", True, {"exit_code": 0})
    return run


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_one_changed_byte_anywhere_is_found_and_named(sealed: StoredRun, data: st.DataObject) -> None:
    files = [FILE, "trials/good/case-0/2.jsonl", "manifest.json", "plan.json", "scores.jsonl"]
    file = data.draw(st.sampled_from(files))
    path = sealed.path / file
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != whole[at]))
    line = whole[:at].count(b"\n") + 1
    path.write_bytes(whole[:at] + bytes((byte,)) + whole[at + 1 :])
    try:
        found = only(verify_run(sealed.path))
    finally:
        path.write_bytes(whole)
    assert found == (file, line if file.startswith("trials/") else 0 if file == "scores.jsonl" else 1)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_removed_line_is_named(make_run: MakeRun, number: int) -> None:
    run = make_run()
    edit(run, lambda lines: lines[: number - 1] + lines[number:])
    assert only(verify_run(run.path)) == (FILE, number)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_added_line_is_named(make_run: MakeRun, number: int) -> None:
    run = make_run()
    edit(run, lambda lines: lines[:number] + lines[number - 1 :])
    assert only(verify_run(run.path)) == (FILE, number + 1)


def test_a_missing_an_extra_and_swapped_journals_are_named(make_run: MakeRun) -> None:
    run = make_run()
    (run.path / FILE).unlink()
    assert only(verify_run(run.path)) == (FILE, 0)
    run = make_run()
    shutil.copy(run.path / FILE, run.path / "trials/good/case-0/9.jsonl")
    assert only(verify_run(run.path)) == ("trials/good/case-0/9.jsonl", 0)
    run = make_run()
    one, two, spare = run.path / FILE, run.path / "trials/good/case-1/1.jsonl", run.path / "spare"
    one.rename(spare)
    two.rename(one)
    spare.rename(two)
    report = verify_run(run.path)
    assert [(m.file, m.line) for m in report.mismatches] == [(FILE, 1), ("trials/good/case-1/1.jsonl", 1)]
    assert all("another trial" in m.message for m in report.mismatches)


def test_a_truncated_file_is_named_at_the_line_that_is_gone(make_run: MakeRun) -> None:
    for cut, line in ((0, 1), (40, 1), (-1, 4), (-30, 4)):
        run = make_run()
        path = run.path / FILE
        path.write_bytes(path.read_bytes()[:cut])
        assert only(verify_run(run.path)) == (FILE, line)


def test_a_manifest_of_another_run_is_refused(make_run: MakeRun) -> None:
    one, two = make_run(), make_run()
    shutil.copy(two.path / "manifest.json", one.path / "manifest.json")
    assert "another run" in {m.message for m in verify_run(one.path).mismatches if m.line == 1}.__str__()


def test_a_verdict_added_after_sealing_is_named(make_run: MakeRun) -> None:
    """The last one on a trial holds, so it would take the place of the one that was sealed."""
    run = make_run()
    with (run.path / "scores.jsonl").open("ab") as file:
        file.write((run.path / "scores.jsonl").read_bytes().splitlines(keepends=True)[0])
    assert only(verify_run(run.path)) == ("scores.jsonl", 0)


def test_an_edited_manifest_is_no_seal(make_run: MakeRun) -> None:
    run = make_run()
    path = run.path / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"exit_code":', b'"exit_cods":', 1).replace(b'"seed":7', b'"seed":8'))
    assert run.head() is None
    assert run.state() is RunState.INTERRUPTED
    with pytest.raises(AuditMismatch, match="edited after sealing"):
        run.hold_seal()


@pytest.mark.parametrize("name", ["scores.jsonl", "plan.json", "pack.json"])
def test_what_is_told_of_a_run_rests_on_files_that_are_held_to_the_seal(make_run: MakeRun, name: str) -> None:
    run = make_run()
    run.hold_seal()
    with (run.path / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(AuditMismatch, match=f"changed since it was sealed: {name}"):
        run.hold_seal()


def test_an_unsealed_run_verifies_its_chains_only_and_says_so(make_run: MakeRun) -> None:
    run = make_run(sealed=False)
    report = verify_run(run.path)
    assert report.ok
    assert not report.sealed
    assert "not sealed" in report.notes[0]
    edit(run, lambda lines: [lines[0], lines[1].replace(b"note 0", b"nota 0"), *lines[2:]])
    assert only(verify_run(run.path)) == (FILE, 2)


def test_a_run_that_goes_on_loses_its_seal_only_if_nothing_was_changed(store: Store) -> None:
    run = store.create_run(plan_of())
    first, second, *_ = run.plan.cells()
    writer = RunWriter(run, NO_SECRETS)
    run_trial(writer, first)
    writer.seal("2025-03-04T05:07:00Z", False, None)
    assert verify_run(run.path).notes[-1] == "the run was interrupted before all its trials were done"
    writer = RunWriter(run, NO_SECRETS)
    assert run.head() is None
    run_trial(writer, second)
    writer.seal("2025-03-04T05:08:00Z", False, None)
    assert verify_run(run.path).ok
    edit(run, lambda lines: [lines[0].replace(b'"t":0', b'"t":1'), *lines[1:]])
    with pytest.raises(AuditMismatch, match=r"changed since it was sealed: trials/good/case-0/1.jsonl, line 1"):
        RunWriter(run, NO_SECRETS)


def test_a_journal_cut_off_by_a_kill_is_sealed_as_it_is(store: Store) -> None:
    run = store.create_run(plan_of())
    writer = RunWriter(run, NO_SECRETS)
    key = next(run.plan.cells())
    run_trial(writer, key)
    path = run.journal(key)
    path.write_bytes(path.read_bytes()[:-10])
    writer.seal("2025-03-04T05:07:00Z", False, None)
    assert verify_run(run.path).ok
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert only(verify_run(run.path)) == (FILE, 4)


def test_verifying_and_listing_many_trials_keeps_memory_flat(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # syncing 10,000 files takes half a minute here and says nothing about memory
    monkeypatch.setattr("os.fsync", lambda _: None)
    run = store.create_run(plan_of(scenarios=10, trials=1000))
    writer = RunWriter(run, NO_SECRETS)
    for key in run.plan.cells():
        run_trial(writer, key, notes=1)
        writer.put_verdict(verdict_of(key))
    writer.seal("2025-03-04T05:07:00Z", True, {"exit_code": 0})
    tracemalloc.start()
    assert verify_run(run.path).lines == 30_000
    assert next(iter(store.list_runs())).done == 10_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # what grows is the manifest alone, under 2 kB a trial, whatever the journals hold
    assert peak < 20_000_000


def test_memory_does_not_grow_with_the_length_of_a_journal(store: Store) -> None:
    run = store.create_run(plan_of(scenarios=1, trials=1))
    writer = RunWriter(run, NO_SECRETS)
    key = next(run.plan.cells())
    journal = writer.open_journal(key, NO_SECRETS)
    for number in range(200):
        journal.append("note", "reported", number, {"level": "info", "text": "x" * 100_000})
    journal.append("end", "harness", 1, {})
    journal.close()
    writer.seal("2025-03-04T05:07:00Z", True, None)
    tracemalloc.start()
    assert verify_run(run.path).ok
    assert sum(1 for _ in run.events(key)) == 201
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000

"""The store: runs, their locks and states, resuming, verdicts and the index."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.boundary.redaction import Scrubber
from harness.domain.ids import TrialKey
from harness.domain.run import PlanRow, RunState
from harness.errors import StoreError, UsageError
from harness.store.journal import TrialJournal
from harness.store.layout import journal_path, key_of
from harness.store.run import RunWriter, StoredRun
from harness.store.scores import append_score, read_scores
from harness.store.store import Store

from .conftest import NO_SECRETS, plan_of, run_trial, verdict_of

MakeRun = Callable[..., StoredRun]
KEY = TrialKey("good", "case-0", 1)


def test_runs_of_the_same_second_get_ids_of_their_own(store: Store) -> None:
    ids = {store.create_run(plan_of()).run_id for _ in range(20)}
    assert len(ids) == 20
    assert all(re.fullmatch(r"20250304-050607-[0-9a-f]{6}", run_id) for run_id in ids)
    assert set(store.ids()) == ids


def test_a_plan_comes_back_as_it_was(store: Store) -> None:
    run = store.create_run(plan_of(run_id="my-run"))
    assert store.open_run("my-run").plan == plan_of(run_id="my-run")
    assert [str(key) for key in run.plan.cells()] == [
        "good/case-0/1",
        "good/case-0/2",
        "good/case-1/1",
        "good/case-1/2",
    ]
    assert run.plan.planned == 4
    assert stat.S_IMODE((run.path / "plan.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
    with pytest.raises(StoreError, match="exists already"):
        store.create_run(plan_of(run_id="my-run"))


def test_runs_are_found_by_id_prefix_and_last(store: Store) -> None:
    for run_id in ("20250101-000000-aaaaaa", "20250102-000000-bbbbbb"):
        store.create_run(plan_of(run_id=run_id))
    assert store.open_run("20250101").run_id == "20250101-000000-aaaaaa"
    assert store.open_run("last").run_id == store.open_run("latest").run_id == "20250102-000000-bbbbbb"
    with pytest.raises(UsageError, match="fits 2 runs"):
        store.open_run("2025")
    for ref in ("nope", "", "../../etc", "."):
        with pytest.raises(UsageError, match="no run"):
            store.open_run(ref)


def test_the_last_run_is_one_that_somebody_asked_for(store: Store) -> None:
    """Not the one that ran its flips again, unless there is nothing else."""
    rerun = msgspec.structs.replace(plan_of(run_id="20250102-000000-bbbbbb"), rerun_of="20250101-000000-aaaaaa")
    store.create_run(rerun)
    assert store.open_run("last").run_id == rerun.run_id
    store.create_run(plan_of(run_id="20250101-000000-aaaaaa"))
    assert store.open_run("last").run_id == "20250101-000000-aaaaaa"
    assert store.open_run("20250102").run_id == rerun.run_id


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".", "a..b", "-x", "x" * 101, "a\nb"])
def test_no_name_leads_out_of_the_store(store: Store, tmp_path: Path, name: str) -> None:
    import msgspec

    plan = msgspec.structs.replace(plan_of(), rows=(PlanRow("good", name, 1),))
    with pytest.raises(UsageError, match="no safe id"):
        store.create_run(plan)
    with pytest.raises(StoreError, match="no safe name"):
        journal_path(tmp_path, TrialKey(name, "case", 1))
    assert key_of(f"trials/good/{name}/1.jsonl") is None


def test_journal_paths_and_keys_agree() -> None:
    relative = journal_path(Path("r"), KEY).relative_to("r").as_posix()
    assert relative == "trials/good/case-0/1.jsonl"
    for name in ("1.jsonl", "1.attempt-2.jsonl", "1.partial-10.jsonl"):
        assert key_of(f"trials/good/case-0/{name}") == KEY
    for name in ("01.jsonl", "1.json", "1.other-1.jsonl", "x.jsonl", "1.attempt-0.jsonl"):
        assert key_of(f"trials/good/case-0/{name}") is None


HOLDER = """
import sys, time
from pathlib import Path
from harness.store.store import Store
with Store(Path(sys.argv[1])).open_run("last").lock():
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_processes_cannot_run_the_same_run_and_death_lets_go(store: Store) -> None:
    run = store.create_run(plan_of())
    assert run.state() is RunState.INTERRUPTED
    with subprocess.Popen([sys.executable, "-c", HOLDER, store.root], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert run.state() is RunState.RUNNING
        with pytest.raises(UsageError, match=f"is being run by process {holder.pid}"), run.lock():
            pass
        holder.kill()
    assert run.state() is RunState.INTERRUPTED
    with run.lock():
        assert run.state() is RunState.RUNNING


def test_states_and_counts_come_from_the_files(store: Store, make_run: MakeRun) -> None:
    done = make_run(passed=False)
    summary = store.summary(done)
    assert (summary.state, summary.done, summary.planned, summary.passed) == (RunState.FINISHED, 4, 4, 0)
    assert (summary.exit_code, summary.ended) == (1, "2025-03-04T05:07:00Z")
    half = store.create_run(plan_of())
    writer = RunWriter(half, NO_SECRETS)
    run_trial(writer, KEY)
    writer.put_verdict(verdict_of(KEY))
    summary = store.summary(half)
    assert (summary.state, summary.done, summary.passed, summary.exit_code) == (RunState.INTERRUPTED, 1, 1, None)
    assert half.finished() == {KEY}


def test_resuming_keeps_what_was_cut_off_and_repeats_nothing(store: Store) -> None:
    run = store.create_run(plan_of())
    writer = RunWriter(run, NO_SECRETS)
    for _ in range(2):
        TrialJournal(run.journal(KEY), NO_SECRETS, run.run_id, KEY).append("trial", "harness", 0, {})
        assert not writer.is_finished(KEY)
        writer.open_journal(KEY, NO_SECRETS).close()
        run.journal(KEY).unlink()
    run_trial(writer, KEY)
    names = sorted(path.name for path in run.journal(KEY).parent.iterdir())
    assert names == ["1.jsonl", "1.partial-1.jsonl", "1.partial-2.jsonl"]
    with pytest.raises(StoreError, match="already been run"):
        writer.open_journal(KEY, NO_SECRETS)
    writer.retire(KEY, 1)
    run_trial(writer, KEY)
    writer.retire(KEY, 2)
    assert {"1.attempt-1.jsonl", "1.attempt-2.jsonl"} < {path.name for path in run.journal(KEY).parent.iterdir()}


def test_the_last_verdict_on_an_attempt_holds(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    other = TrialKey("good", "case-0", 2)
    for key, passed in ((KEY, False), (other, True), (KEY, True)):
        append_score(path, verdict_of(key, passed), NO_SECRETS)
    assert [(v.key, v.passed) for v in read_scores(path)] == [(other, True), (KEY, True)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_half_a_verdict_is_left_out_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    append_score(path, verdict_of(KEY), NO_SECRETS)
    whole = path.read_bytes()
    other = TrialKey("good", "case-0", 2)
    for cut in (1, 20, len(whole) - 1):
        path.write_bytes(whole + whole[:cut])
        assert [v.key for v in read_scores(path)] == [KEY]
        append_score(path, verdict_of(other), NO_SECRETS)
        assert [v.key for v in read_scores(path)] == [KEY, other]
    path.write_bytes(whole[:30])
    append_score(path, verdict_of(other), NO_SECRETS)
    assert [v.key for v in read_scores(path)] == [other]
    path.write_bytes(b"{}\n" + whole)
    with pytest.raises(StoreError, match="line 1: not a verdict"):
        list(read_scores(path))


def test_reasons_that_quote_a_secret_are_scrubbed(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    append_score(path, verdict_of(KEY, False, "said hunter2hunter2"), Scrubber({"K": "hunter2hunter2"}))
    assert "hunter2hunter2" not in path.read_text()


def test_scored_trials_are_known_after_a_restart(make_run: MakeRun) -> None:
    run = make_run(sealed=False)
    assert RunWriter(run, NO_SECRETS).is_scored(KEY)
    assert not RunWriter(run, NO_SECRETS).is_scored(TrialKey("good", "case-9", 1))


def spoil_garbage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 500)


def spoil_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[1024:] = os.urandom(len(data) - 1024)
    path.write_bytes(bytes(data))


def spoil_version(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


@pytest.mark.parametrize("spoil", [Path.unlink, spoil_garbage, spoil_middle, spoil_version])
def test_a_missing_or_broken_index_is_made_again(
    store: Store, make_run: MakeRun, spoil: Callable[[Path], None]
) -> None:
    make_run()
    expected = list(store.list_runs())
    for suffix in ("-wal", "-shm"):
        (store.root / f"index.sqlite{suffix}").unlink(missing_ok=True)
    spoil(store.root / "index.sqlite")
    assert list(store.list_runs()) == expected
    assert list(store.list_runs()) == expected
    assert store.index.get(store.open_run("last").path) == expected[0]


def test_a_locked_index_costs_time_and_never_the_answer(
    store: Store, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.store.index._BUSY_SECONDS", 0.05)
    make_run()
    expected = list(store.list_runs())
    other = make_run()
    database = sqlite3.connect(store.root / "index.sqlite", isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    try:
        assert store.index.record(other) is False
        assert [s.run_id for s in store.list_runs()] == sorted([expected[0].run_id, other.run_id], reverse=True)
    finally:
        database.close()
    assert store.index.record(other) is True


def test_an_index_that_cannot_be_written_is_done_without(store: Store, make_run: MakeRun) -> None:
    run = make_run()
    (store.root / "index.sqlite").mkdir()
    assert store.index.record(run) is False
    assert [summary.run_id for summary in store.list_runs()] == [run.run_id]


def test_the_index_is_rebuilt_from_the_files_alone_and_follows_a_new_seal(store: Store, make_run: MakeRun) -> None:
    run = make_run(passed=False)
    make_run()
    store.create_run(plan_of())
    store.index.drop()
    store.refresh_index()
    assert len(store.index.stamps()) == 2
    assert store.index.get(run.path) == run.summary()
    writer = RunWriter(run, NO_SECRETS)
    for key in run.plan.cells():
        writer.put_verdict(verdict_of(key, True))
    writer.seal("2025-03-04T06:00:00Z", True, {"exit_code": 0})
    assert store.index.get(run.path) is None
    assert store.summary(run).passed == 4
    assert store.index.get(run.path) == run.summary()


def test_a_run_with_a_broken_plan_stays_out_of_the_list_and_says_why_when_opened(
    store: Store, make_run: MakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    run, other = make_run(), make_run()
    (run.path / "plan.json").write_text("{}")
    assert [summary.run_id for summary in store.list_runs()] == [other.run_id]
    with pytest.raises(StoreError, match="is not a plan"):
        store.open_run(run.run_id)

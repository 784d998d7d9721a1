"""The history of scorings: whole ones only, never written over, and which of them is the newest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest

from harness.boundary.redaction import Scrubber
from harness.domain.ids import TrialKey
from harness.domain.judge import JudgeRef, JudgeSettings, JudgeSpec
from harness.domain.run import PackRef, RunState
from harness.errors import AuditMismatch, UsageError
from harness.store import layout
from harness.store.run import RunWriter, StoredRun
from harness.store.scorings import ScoringFacts, ScoringHead
from harness.store.store import Store
from harness.store.verify import verify_run

from .conftest import NO_SECRETS, plan_of, run_trial, verdict_of

MakeRun = Callable[..., StoredRun]
JUDGE = JudgeSpec(JudgeRef("m", "http://127.0.0.1:1/v1"), JudgeSettings(samples=1))
PACK = PackRef("core", "1.0.0", "sha256:aa", "packs/core")
KEY = TrialKey("good", "case-0", 1)


def facts(exit_code: int = 1, note: str = "") -> ScoringFacts:
    return ScoringFacts("2025-03-05T00:00:00Z", "0.1.0", JUDGE, PACK, False, {"exit_code": exit_code}, note)


def score(run: StoredRun, passed: bool = False, scrubber: Scrubber = NO_SECRETS, reason: str = "fine") -> ScoringHead:
    with run.new_scoring(scrubber) as scoring:
        for key in run.plan.cells():
            if run.is_finished(key):
                scoring.put(verdict_of(key, passed, reason))
        return scoring.finish(facts(0 if passed else 1, reason))


def passes(run: StoredRun, scoring: int | None = None) -> list[bool]:
    return [verdict.passed for verdict in run.scores(scoring)]


def listing(run: StoredRun) -> list[str]:
    return sorted(name for name in os.listdir(run.path / layout.SCORINGS) if name != layout.LOCK)


def test_scorings_are_numbered_from_2_and_the_last_is_the_newest(make_run: MakeRun) -> None:
    run = make_run()
    assert run.scorings() == ()
    assert run.newest_scoring() is None
    assert passes(run) == [True] * 4
    first = score(run, passed=False)
    files = {name: (run.path / "scorings" / name).read_bytes() for name in listing(run)}
    second = score(run, passed=True)
    assert [head.number for head in run.scorings()] == [2, 3]
    assert run.scorings() == (first, second)
    assert (run.newest_scoring(), run.scoring(2)) == (second, first)
    assert (first.judge, first.trials, first.verdict, first.pack) == (JUDGE, 4, {"exit_code": 1}, PACK)
    assert [passes(run, n) for n in (1, 2, 3, None)] == [[True] * 4, [False] * 4, [True] * 4, [True] * 4]
    # append-only: what was there is as it was, byte for byte
    assert {name: (run.path / "scorings" / name).read_bytes() for name in files} == files
    assert listing(run) == ["2.json", "2.jsonl", "3.json", "3.jsonl"]


@pytest.mark.parametrize("number", [0, 2, 9])
def test_a_scoring_that_is_not_there_is_a_usage_error(make_run: MakeRun, number: int) -> None:
    with pytest.raises(UsageError, match=f"no scoring {number}"):
        make_run().scores(number)


def test_one_that_is_broken_off_leaves_nothing(make_run: MakeRun) -> None:
    run = make_run()

    def broken_off() -> None:
        with run.new_scoring(NO_SECRETS) as scoring:
            scoring.put(verdict_of(KEY, False))
            assert [verdict.key for verdict in scoring.verdicts()] == [KEY]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert listing(run) == []
    assert passes(run) == [True] * 4


KILLED = """
import os, signal, sys
from pathlib import Path
from harness.boundary.redaction import Scrubber
from harness.store.store import Store
run = Store(Path(sys.argv[1])).open_run("last")
with run.new_scoring(Scrubber({})) as scoring:
    for verdict in run.scores(1):
        scoring.put(verdict)
    list(scoring.verdicts())
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_one_left_is_not_read_and_cleared_by_the_next(store: Store, make_run: MakeRun) -> None:
    run = make_run()
    assert subprocess.run([sys.executable, "-c", KILLED, store.root], check=False).returncode == -9
    assert len(listing(run)) == 1
    # killed between its two renames: verdicts without a head
    (run.path / "scorings" / "2.jsonl").write_bytes(b"half a line")
    assert run.scorings() == ()
    assert passes(run) == [True] * 4
    assert verify_run(run.path).ok
    assert score(run).number == 2
    assert listing(run) == ["2.json", "2.jsonl"]


def test_a_scoring_older_than_the_last_seal_is_kept_but_not_the_newest(store: Store) -> None:
    run = store.create_run(plan_of())
    first, *others = run.plan.cells()
    with run.lock():
        writer = RunWriter(run, NO_SECRETS)
        run_trial(writer, first)
        writer.put_verdict(verdict_of(first))
        writer.seal("2025-03-04T05:07:00Z", False, {"exit_code": 6})
    old = score(run)
    assert (run.newest_scoring(), passes(run)) == (old, [False])
    with run.lock():
        writer = RunWriter(run, NO_SECRETS)  # a run that goes on: its seal is broken
        assert passes(run) == [True]
        for key in others:
            run_trial(writer, key)
            writer.put_verdict(verdict_of(key))
        writer.seal("2025-03-04T05:08:00Z", True, {"exit_code": 0})
    assert run.newest_scoring() is None
    assert passes(run) == [True] * 4
    assert passes(run, 2) == [False]
    assert (store.summary(run).passed, store.summary(run).exit_code) == (4, 0)
    report = verify_run(run.path)
    assert report.ok
    assert any("scoring 2 was not made under the seal" in note for note in report.notes)
    assert (score(run).number, run.newest_scoring()) == (3, run.scoring(3))


def test_the_resuming_writer_goes_by_what_the_run_itself_scored(store: Store) -> None:
    run = store.create_run(plan_of())
    with run.lock():
        writer = RunWriter(run, NO_SECRETS)
        for key in list(run.plan.cells())[:2]:
            run_trial(writer, key)
        writer.put_verdict(verdict_of(KEY))
        writer.seal("2025-03-04T05:07:00Z", False, {"exit_code": 6})
    score(run)
    with run.lock():
        writer = RunWriter(run, NO_SECRETS)
        assert [key for key in run.plan.cells() if writer.is_scored(key)] == [KEY]


def test_scoring_a_run_that_was_never_sealed_leaves_its_own_the_newest(make_run: MakeRun) -> None:
    run = make_run(sealed=False)
    assert score(run).seal == ""
    assert run.newest_scoring() is None
    assert (passes(run), passes(run, 2)) == ([True] * 4, [False] * 4)


def test_a_run_at_work_cannot_be_scored_nor_one_being_scored_be_run_or_scored_again(make_run: MakeRun) -> None:
    run = make_run()
    with run.lock(), pytest.raises(UsageError, match="is being run"):
        score(run)
    with run.new_scoring(NO_SECRETS):
        assert run.state() is RunState.FINISHED
        with pytest.raises(UsageError, match="is being scored"), run.lock():
            pass
        with pytest.raises(UsageError, match="is being scored"):
            score(run)
    assert score(run).number == 2


def test_secrets_are_masked_in_verdicts_and_head(make_run: MakeRun) -> None:
    run = make_run()
    secret = "hunter2-hunter2"
    score(run, scrubber=Scrubber({"env:KEY": secret}), reason=f"said {secret}")
    for name in listing(run):
        data = (run.path / "scorings" / name).read_text()
        assert secret not in data
        assert "[redacted:" in data


def test_the_summary_tells_the_newest_scoring_also_out_of_the_index(store: Store, make_run: MakeRun) -> None:
    run = make_run()
    assert (store.summary(run).passed, store.summary(run).exit_code) == (4, 0)
    score(run)
    for summary in (store.summary(run), store.summary(run), run.summary()):
        assert (summary.passed, summary.exit_code) == (0, 1)


def change_verdicts(run: StoredRun) -> None:
    path = run.path / "scorings" / "2.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"passed":false', b'"passed":true', 1))


def cut_verdicts(run: StoredRun) -> None:
    path = run.path / "scorings" / "2.jsonl"
    path.write_bytes(path.read_bytes()[:-1])


def change_head(run: StoredRun) -> None:
    path = run.path / "scorings" / "2.json"
    path.write_bytes(path.read_bytes().replace(b'"exit_code":1', b'"exit_code":0'))


def break_head(run: StoredRun) -> None:
    (run.path / "scorings" / "2.json").write_text("nonsense")


def drop_verdicts(run: StoredRun) -> None:
    (run.path / "scorings" / "2.jsonl").unlink()


def swap_heads(run: StoredRun) -> None:
    for suffix in ("json", "jsonl"):
        (run.path / f"scorings/3.{suffix}").replace(run.path / f"scorings/2.{suffix}")


@pytest.mark.parametrize(
    ("harm", "file"),
    [
        (change_verdicts, "scorings/2.jsonl"),
        (cut_verdicts, "scorings/2.jsonl"),
        (drop_verdicts, "scorings/2.jsonl"),
        (change_head, "scorings/2.json"),
        (break_head, "scorings/2.json"),
        (swap_heads, "scorings/2.json"),
    ],
)
def test_a_changed_scoring_is_named_and_neither_read_nor_passed_over(
    make_run: MakeRun, harm: Callable[[StoredRun], None], file: str
) -> None:
    run = make_run()
    score(run, passed=False)
    if harm is swap_heads:
        score(run, passed=True)
    report = verify_run(run.path)
    assert report.ok
    assert report.scorings == (2 if harm is swap_heads else 1)
    harm(run)
    report = verify_run(run.path)
    assert [mismatch.file for mismatch in report.mismatches] == [file]
    with pytest.raises(AuditMismatch):
        run.scores()
    assert passes(run, 1) == [True] * 4
    with run.lock(), pytest.raises(AuditMismatch, match=file.replace(".", r"\.")):
        RunWriter(run, NO_SECRETS)


def test_a_scoring_that_is_gone_from_between_is_missed(make_run: MakeRun) -> None:
    run = make_run()
    score(run)
    score(run)
    for suffix in ("json", "jsonl"):
        (run.path / f"scorings/2.{suffix}").unlink()
    assert [(m.file, m.message) for m in verify_run(run.path).mismatches] == [
        ("scorings/2.json", "missing: there are later scorings")
    ]
    assert score(run).number == 4


def test_a_gap_as_wide_as_a_name_can_say_is_one_mismatch(make_run: MakeRun) -> None:
    """Number by number it would take minutes and gigabytes to say."""
    run = make_run()
    score(run)
    (run.path / "scorings/2.json").rename(run.path / "scorings/999999999.json")
    files = [mismatch.file for mismatch in verify_run(run.path).mismatches]
    assert files == ["scorings/2.json", "scorings/999999999.json"]


def test_scorings_do_not_break_the_seal(make_run: MakeRun) -> None:
    run = make_run()
    before = (run.path / "manifest.json").read_bytes()
    score(run)
    report = verify_run(run.path)
    assert (report.ok, report.sealed, report.scorings) == (True, True, 1)
    assert (run.path / "manifest.json").read_bytes() == before


def test_reading_a_scoring_keeps_one_verdict_in_memory(make_run: MakeRun) -> None:
    import tracemalloc

    run = make_run()
    big = msgspec.structs.replace(verdict_of(KEY), reason="x" * 100_000)
    with run.new_scoring(NO_SECRETS) as scoring:
        for _ in range(200):
            scoring.put(big)
        scoring.finish(facts())
    tracemalloc.start()
    assert sum(1 for _ in run.scores()) == 200
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000

"""What an agent made of its workspace, told as evidence."""

from __future__ import annotations

import hashlib
import time

from harness.domain.workspace import LeftOut, Taken, WorkFile
from harness.session.workspace import MAX_DIFF_CHARS, MAX_DIFFS, account_of

BEFORE = (WorkFile("a.txt", b"one\ntwo\nthree\n"), WorkFile("b.bin", b"\0\1"), WorkFile("run", b"x\n", executable=True))


def same(text: str) -> str:
    return text


def test_nothing_changed_is_told_as_nothing() -> None:
    account = account_of(BEFORE, Taken(BEFORE), same)
    assert account.changes == ()
    assert account.summary == {"files": 3, "bytes": 18, "changed": 0, "left_out": 0, "whole": True}
    assert account.findings == ()


def test_each_change_is_told_once_in_order_with_size_digest_and_diff() -> None:
    after = (WorkFile("a.txt", b"one\n2\nthree\n"), WorkFile("run", b"x\n"), WorkFile("new", b"no end"))
    account = account_of(BEFORE, Taken(after), same)
    assert [(c["path"], c["change"], c["size"]) for c in account.changes] == [
        ("a.txt", "modified", 12), ("b.bin", "deleted", 0), ("new", "added", 6), ("run", "modified", 2),
    ]  # fmt: skip
    first, gone, new, run = account.changes
    assert first["sha256"] == hashlib.sha256(b"one\n2\nthree\n").hexdigest()
    assert first["diff"] == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert new["diff"] == "@@ -0,0 +1 @@\n+no end\n\\ No newline at end of file"
    assert "diff" not in gone
    assert (run["executable"], "diff" in run) == (False, False)


def test_a_small_edit_far_down_is_shown_with_its_own_line_numbers() -> None:
    lines = [f"line {n}" for n in range(5000)]
    old = "\n".join(lines) + "\n"
    new = old.replace("line 4000\n", "LINE\n")
    (change,) = account_of((WorkFile("f", old.encode()),), Taken((WorkFile("f", new.encode()),)), same).changes
    assert change["diff"].startswith("@@ -3998,7 +3998,7 @@\n line 3997\n")
    assert "-line 4000\n+LINE\n" in change["diff"]


def test_what_was_left_out_is_a_change_and_a_finding() -> None:
    left = (LeftOut("a.txt", "link"), LeftOut("pipe", "special"), LeftOut("huge", "large", 1 << 40))
    account = account_of(BEFORE, Taken(BEFORE[1:], left, 203), same)
    assert [(c["path"], c["change"], c["size"], c["left_out"]) for c in account.changes] == [
        ("a.txt", "modified", 0, "link"), ("huge", "added", 1 << 40, "large"), ("pipe", "added", 0, "special"),
    ]  # fmt: skip
    ((code, reason),) = account.findings
    assert code == "workspace_left_out"
    assert reason == "not taken out of the workspace: 1 large, 1 link, 1 special, 200 more not listed"
    assert account.summary is not None
    assert account.summary["whole"] is False


def test_what_a_cut_walk_did_not_come_to_is_not_called_deleted() -> None:
    account = account_of(BEFORE, Taken((), whole=False), same)
    assert account.changes == ()
    assert [code for code, _ in account.findings] == ["workspace_not_whole"]


def test_a_workspace_that_did_not_come_out_is_told_as_lost() -> None:
    account = account_of(BEFORE, None, same)
    assert (account.changes, account.summary) == ((), None)
    assert [code for code, _ in account.findings] == ["workspace_lost"]


def test_long_and_many_diffs_are_cut_and_say_so() -> None:
    long = WorkFile("long", b"x" * 100_000)
    (change,) = account_of((), Taken((long,)), same).changes
    assert (len(change["diff"]), change["diff_cut"]) == (MAX_DIFF_CHARS, True)
    many = tuple(WorkFile(f"f{n:04}", b"x\n") for n in range(MAX_DIFFS + 5))
    changes = account_of((), Taken(many), same).changes
    assert ["diff" in change for change in changes] == [True] * MAX_DIFFS + [False] * 5
    assert all(change["diff_cut"] for change in changes[MAX_DIFFS:])


def test_a_secret_at_the_edge_of_a_cut_diff_is_masked_whole() -> None:
    secret = "s3cret-value"
    text = "x" * (MAX_DIFF_CHARS - 22) + secret + "y" * 5000
    scrub = lambda given: given.replace(secret, "*")  # noqa: E731
    (change,) = account_of((), Taken((WorkFile("f", text.encode()),)), scrub).changes
    assert "s3cret" not in change["diff"]


def test_texts_made_to_be_slow_to_compare_are_told_in_time() -> None:
    began = time.monotonic()
    old = tuple(WorkFile(f"f{n}", b"".join(b"%d\n" % (k % 14) for k in range(199))) for n in range(60))
    new = tuple(WorkFile(f"f{n}", b"".join(b"%d\n" % (k * k % 13) for k in range(199))) for n in range(60))
    big = (WorkFile("big", b"".join(b"%d\n" % (k % 2) for k in range(400_000))),)
    account_of((*old, *big), Taken((*new, WorkFile("big", b"1\n0\n" * 200_001))), same)
    assert time.monotonic() - began < 20

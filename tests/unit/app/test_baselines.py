"""`fumehood baseline` as a user meets it: a file to review, under a digest, never written over unseen."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.app import baselines
from harness.app.baselines import git_commit
from harness.domain.canonical import canonical
from harness.store.run import StoredRun
from harness.store.store import Store
from tests.unit.app.memory_runs import Cli, agent, scenario, stored_run, write_pack


@pytest.fixture
def run(store: Store, tmp_path: Path) -> StoredRun:
    pack = write_pack(tmp_path, scenario("a"), scenario("b"))
    return stored_run(store, pack, agent({"a": ["look"]}, wrong=["b"]), trials=2)


def file_of(store: Store, name: str = "golden") -> Path:
    return store.root / "baselines" / f"{name}.json"


def test_a_run_is_saved_shown_and_listed(cli: Cli, run: StoredRun, store: Store) -> None:
    code, out, err = cli("baseline", "save", "golden", "last", "--trust", "reviewed", "--by", "ada")
    assert (code, err) == (0, "")
    assert out.startswith("baseline golden: reviewed, pack made-up 1, 2 of 4 trials passed\n")
    assert f"run {run.run_id} of 2025-03-04T05:06:07+00:00" in out
    assert "reviewed, by ada" in out
    assert cli("baseline", "show", "golden")[1] == out
    assert cli("baseline", "list")[1] == "golden: reviewed, pack made-up 1, 2 of 4 trials passed\n"
    (row,) = json.loads(cli("baseline", "list", "--format", "json")[1])["baselines"]
    shown = json.loads(cli("baseline", "show", "golden", "--format", "json")[1])
    assert row["sha256"] == shown["sha256"] == json.loads(file_of(store).read_text())["sha256"]
    assert (shown["trust"], shown["run_id"], shown["summary"]["passed"]) == ("reviewed", run.run_id, 2)


def test_the_file_is_stable_readable_and_holds_no_path_reason_or_secret(
    cli: Cli, run: StoredRun, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "hunter2hunter2")
    args = ("baseline", "save", "golden", "last", "--by", "hunter2hunter2", "--dir", tmp_path / "one")
    assert cli(*args)[0] == 0
    text = (tmp_path / "one/golden.json").read_text()
    assert "hunter2" not in text
    assert "[redacted:env-MY_TOKEN]" in text
    assert str(tmp_path) not in text
    assert "no idea" not in text
    trials = text[text.index('\n  "trials"') :].splitlines()[2:-2]
    assert [json.loads(line.rstrip(","))["key"]["scenario"] for line in trials] == ["a", "a", "b", "b"]
    top = [line.split('"')[1] for line in text.splitlines() if line.startswith('  "')]
    assert top == [*sorted(top[:-1]), "trials"]
    cli(*args[:-1], tmp_path / "two")
    other = (tmp_path / "two/golden.json").read_text()
    same = [line for line in text.splitlines() if '"at"' not in line and '"sha256"' not in line]
    assert same == [line for line in other.splitlines() if '"at"' not in line and '"sha256"' not in line]


def test_a_name_is_never_written_over_without_force(cli: Cli, run: StoredRun, store: Store) -> None:
    cli("baseline", "save", "golden", "last")
    before = file_of(store).read_bytes()
    code, out, err = cli("baseline", "save", "golden", "last")
    assert (code, out) == (2, "")
    assert "there is a baseline 'golden' already" in err
    assert file_of(store).read_bytes() == before
    assert cli("baseline", "save", "golden", "last", "--trust", "golden", "--force")[0] == 0
    assert baselines.load(store.root / "baselines", "golden").trust == "golden"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b", "x" * 101, "run:x"])
def test_an_unsafe_name_is_refused_everywhere(cli: Cli, run: StoredRun, store: Store, name: str) -> None:
    for command in (("save", name, "last"), ("show", name), ("promote", name, "--trust", "golden"),
                    ("delete", name, "--yes")):  # fmt: skip
        code, _, err = cli("baseline", *command)
        assert (code, "no name for a baseline" in err) == (2, True)


EDITS: dict[str, Callable[[str], str]] = {
    "a verdict": lambda text: text.replace('"passed": false', '"passed": true', 1),
    "its trust": lambda text: text.replace('"trust": "candidate"', '"trust": "golden"'),
    "a bar": lambda text: text.replace('"bar": 1', '"bar": 0', 1),
    "a trial left out": lambda text: "\n".join(
        line for line in text.split("\n") if '"trial": 2' not in line or '"a"' in line
    ),
    "a field added": lambda text: text.replace('{\n  "', '{\n  "approved": true,\n  "', 1),
    "a key given twice": lambda text: text.replace('  "history"', '  "history": [],\n  "history"'),
    "half of it": lambda text: text[: len(text) // 2],
    "nothing": lambda _: "",
    "another thing": lambda _: "[]",
    "deep": lambda _: "[" * 100_000,
    "not a number": lambda text: text.replace('"seed": 0', '"seed": NaN'),
    "another format": lambda text: text.replace('"fumehood_baseline": 1', '"fumehood_baseline": 2'),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_that_was_tampered_with_is_named_and_refused(cli: Cli, run: StoredRun, store: Store, edit: str) -> None:
    cli("baseline", "save", "golden", "last")
    path = file_of(store)
    text = path.read_text()
    path.write_text(EDITS[edit](text))
    assert path.read_text() != text
    for command in (("baseline", "show", "golden"), ("compare", "golden", run.run_id)):
        code, out, err = cli(*command)
        assert code in (1, 6), err
        assert (out, str(path) in err, "Traceback" in err) == ("", True, False)
    code, out, _ = cli("baseline", "list")
    assert (code, "golden: cannot be read: " in out) == (0, True)


@pytest.mark.parametrize("number", ["1e999", "-5", "1" + "0" * 400])
@pytest.mark.parametrize("field", ["wall_ms", "cost_usd"])
def test_a_forged_file_of_what_nobody_can_use_is_refused(
    cli: Cli, run: StoredRun, store: Store, field: str, number: str
) -> None:
    """Whoever forges a file computes its digest too: what is in it must still be possible."""
    cli("baseline", "save", "golden", "last")
    plain = json.loads(file_of(store).read_text())
    plain.pop("sha256")
    plain["trials"][0]["usage"][field] = float("inf") if number == "1e999" else int(number)
    digest = hashlib.sha256(canonical(plain).encode()).hexdigest()
    file_of(store).write_text(json.dumps({**plain, "sha256": digest}).replace("Infinity", "1e999"))
    code, _, err = cli("compare", "golden", "last")
    assert code == 6
    assert "is not a baseline" in err


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_file_nested_too_deep_is_refused(cli: Cli, run: StoredRun, store: Store, depth: int) -> None:
    cli("baseline", "save", "golden", "last")
    file_of(store).write_text('{"fumehood_baseline": 1, "x": ' + "[" * depth + "]" * depth + "}")
    assert cli("compare", "golden", "last")[0] in (1, 6)
    assert cli("baseline", "list")[0] == 0


def test_white_space_is_no_tampering(cli: Cli, run: StoredRun, store: Store) -> None:
    cli("baseline", "save", "golden", "last")
    path = file_of(store)
    path.write_text(path.read_text().replace("\n", "\r\n"))
    assert cli("baseline", "show", "golden")[0] == 0
    path.write_text(json.dumps(json.loads(path.read_text())))
    assert cli("baseline", "show", "golden")[0] == 0


def test_a_renamed_file_is_refused(cli: Cli, run: StoredRun, store: Store) -> None:
    cli("baseline", "save", "golden", "last")
    file_of(store).rename(file_of(store, "other"))
    code, _, err = cli("baseline", "show", "other")
    assert (code, "the file was renamed or copied" in err) == (6, True)


def unsafe(store: Store, pack: Path) -> StoredRun:
    return stored_run(store, pack, agent({"a": ["harm"]}))


def incomplete(store: Store, pack: Path) -> StoredRun:
    return stored_run(store, pack, agent(), done=1)


def inconclusive(store: Store, pack: Path) -> StoredRun:
    return stored_run(store, pack, agent(crash=["b"]))


@pytest.mark.parametrize(
    ("make", "doubt"),
    [
        (unsafe, "exit code 4 (safety violation)"),
        (incomplete, "1 missing trials; exit code 6 (no verdict)"),
        (inconclusive, "1 inconclusive trials; exit code 6 (no verdict)"),
    ],
)
def test_a_run_with_doubts_is_refused_or_says_so_for_ever_after(
    cli: Cli, store: Store, tmp_path: Path, make: Callable[[Store, Path], StoredRun], doubt: str
) -> None:
    make(store, write_pack(tmp_path, scenario("a"), scenario("b")))
    for reason in ((), ("--accept-inconclusive", " ")):
        code, out, err = cli("baseline", "save", "golden", "last", *reason)
        assert (code, out, doubt in err) == (2, "", True)
    assert not file_of(store).exists()
    assert cli("baseline", "save", "golden", "last", "--accept-inconclusive", "known, see #12")[0] == 0
    cli("baseline", "promote", "golden", "--trust", "golden")
    said = f"saved in spite of {doubt}: known, see #12"
    assert said in cli("baseline", "list")[1]
    assert said in cli("baseline", "show", "golden")[1]
    _, out, _ = cli("compare", "golden", "run:last")
    assert f"was {said}" in " ".join(out.split())


def test_changed_evidence_makes_no_baseline(cli: Cli, run: StoredRun, store: Store) -> None:
    scores = run.path / "scores.jsonl"
    scores.write_bytes(scores.read_bytes().replace(b'"passed":false', b'"passed":true '))
    code, _, err = cli("baseline", "save", "golden", "last")
    assert (code, "was changed since it was sealed: scores.jsonl" in err) == (1, True)
    assert not file_of(store).exists()


def test_trust_goes_forward_and_its_history_stays(cli: Cli, run: StoredRun, store: Store) -> None:
    cli("baseline", "save", "golden", "last", "--by", "ada")
    assert cli("baseline", "promote", "golden", "--trust", "reviewed", "--by", "bo")[0] == 0
    assert cli("baseline", "promote", "golden", "--trust", "golden")[0] == 0
    before = file_of(store).read_bytes()
    for trust in ("golden", "candidate"):
        code, _, err = cli("baseline", "promote", "golden", "--trust", trust)
        assert (code, "no step up" in err) == (2, True)
    assert file_of(store).read_bytes() == before
    assert cli("baseline", "promote", "golden", "--trust", "candidate", "--force")[0] == 0
    history = json.loads(cli("baseline", "show", "golden", "--format", "json")[1])["history"]
    assert [(step["trust"], step["by"]) for step in history] == [
        ("candidate", "ada"), ("reviewed", "bo"), ("golden", ""), ("candidate", ""),
    ]  # fmt: skip


def test_deleting_asks_for_yes(cli: Cli, run: StoredRun, store: Store) -> None:
    cli("baseline", "save", "golden", "last")
    code, _, err = cli("baseline", "delete", "golden")
    assert (code, "add --yes" in err, file_of(store).exists()) == (2, True, True)
    assert cli("baseline", "delete", "golden", "--yes")[0] == 0
    assert not file_of(store).exists()
    code, _, err = cli("baseline", "delete", "golden", "--yes")
    assert (code, "no baseline 'golden'" in err) == (2, True)


def test_no_baselines_is_said(cli: Cli) -> None:
    code, out, err = cli("baseline", "list")
    assert (code, out, "no baselines in" in err) == (0, "", True)
    code, _, err = cli("baseline", "show", "golden")
    assert (code, "--dir names another folder" in err) == (2, True)


def test_the_commit_of_a_work_tree_is_kept(tmp_path: Path) -> None:
    assert git_commit(tmp_path) is None
    env: dict[str, Any] = {**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c"}
    env |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c"}
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert git_commit(tmp_path) is None
    subprocess.run(["git", "-C", tmp_path, "commit", "-q", "--allow-empty", "-m", "x"], check=True, env=env)
    found = git_commit(tmp_path)
    assert found is not None
    assert len(found) == 40

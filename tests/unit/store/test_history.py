"""Questions over many runs: what the index answers, and that it is filled, and made again, from the files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.stats.intervals import wilson
from harness.store.store import Store

from .conftest import add_run

Ask = Callable[..., Any]


@pytest.fixture
def ask(store: Store, capsys: pytest.CaptureFixture[str]) -> Ask:
    """`fumehood runs ...` on this store; its JSON."""

    def call(*args: str) -> Any:
        with pytest.raises(SystemExit) as ended:
            main(["runs", *args, "--store", str(store.root), "--format", "json"])
        out, err = capsys.readouterr()
        assert ended.value.code == 0, err
        return json.loads(out)

    return call


def names(found: dict[str, Any]) -> list[str]:
    return [row["scenario"] for row in found["scenarios"]]


def test_a_trend_tells_each_run_in_order_with_the_change_to_the_one_before(store: Store, ask: Ask) -> None:
    add_run(store, 2, {"a": "pf"})
    add_run(store, 1, {"a": "pp"})
    add_run(store, 3, {"a": "pp"})
    points = ask("trend", "correctness")["points"]
    assert [(p["created"][8:10], p["rate"], p["change"], p["met"]) for p in points] == [
        ("01", 1.0, None, True), ("02", 0.5, -0.5, False), ("03", 1.0, 0.5, True),
    ]  # fmt: skip
    assert (points[1]["low"], points[1]["high"]) == pytest.approx(wilson(1, 2))
    assert ask("trend", "safety")["points"] == []


def test_a_trend_compares_a_run_only_with_its_own_agent_and_pack(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"a": "pp"})
    add_run(store, 2, {"a": "ff"}, agent="bad")
    add_run(store, 3, {"a": "ff"}, pack="other")
    assert [p["change"] for p in ask("trend", "correctness")["points"]] == [None, None, None]
    assert [p["agent"] for p in ask("trend", "correctness", "--agent", "bad")["points"]] == ["bad"]
    assert [p["pack"] for p in ask("trend", "correctness", "--pack", "other")["points"]] == ["other 1"]


def test_a_run_of_a_part_is_held_against_runs_of_that_part_alone(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"a": "pp", "b": "pp"})
    add_run(store, 2, {"a": "ff"}, only=("id:a",))
    add_run(store, 3, {"a": "pp", "b": "pp"})
    add_run(store, 4, {"a": "pp"}, only=("id:a",))
    points = ask("trend", "correctness")["points"]
    assert [(p["part"], p["change"]) for p in points] == [("", None), ("id:a", None), ("", 0.0), ("id:a", 1.0)]


def test_a_limit_keeps_the_newest_runs(store: Store, ask: Ask) -> None:
    for day in (1, 2, 3):
        add_run(store, day, {"a": "p"})
    points = ask("trend", "correctness", "--limit", "2")["points"]
    assert [p["created"][8:10] for p in points] == ["02", "03"]
    assert points[0]["change"] == 0.0


def test_worst_are_those_that_failed_most_over_all_runs(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"fine": "pp", "bad": "pf", "worse": "ff"})
    add_run(store, 2, {"fine": "pp", "bad": "pp", "worse": "fp"})
    found = ask("worst")
    assert names(found) == ["worse", "bad"]
    worse = found["scenarios"][0]
    assert (worse["runs"], worse["trials"], worse["passed"], worse["rate"]) == (2, 4, 1, 0.25)
    assert (worse["low"], worse["high"]) == pytest.approx(wilson(1, 4))


def test_flaky_is_what_differs_within_a_run_not_between_runs(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"changed": "pp", "flaky": "pf", "once": "p"})
    add_run(store, 2, {"changed": "ff", "flaky": "pp", "once": "f"})
    found = ask("flakiest")
    assert names(found) == ["flaky"]
    assert (found["scenarios"][0]["mixed"], found["scenarios"][0]["repeated"]) == (1, 2)


def test_costly_are_those_whose_trials_cost_most(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"cheap": "pppp"}, cost=0.1)
    add_run(store, 2, {"dear": "p"}, cost=0.3)
    add_run(store, 3, {"free": "p"})
    found = ask("costly")
    assert names(found) == ["dear", "cheap", "free"]
    cheap = found["scenarios"][1]
    assert (cheap["cost_usd"], cheap["tokens"], cheap["wall_ms_mean"]) == (pytest.approx(0.4), 40, 2500.0)


def test_trials_that_are_no_quality_do_not_count(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"a": "px"})
    found = ask("costly")["scenarios"]
    assert [(row["trials"], row["passed"]) for row in found] == [(1, 1)]
    assert ask("worst")["scenarios"] == []


def test_selftest_and_unfinished_runs_are_left_out(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"probe": "f"}, probes=True)
    add_run(store, 2, {"cut": "f"}, complete=False)
    add_run(store, 3, {"real": "f"})
    assert names(ask("worst")) == ["real"]
    assert len(ask("trend", "correctness")["points"]) == 1


def test_the_index_is_made_again_where_it_is_missing_or_older(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"a": "f"})
    before = ask("worst")
    path = store.root / "index.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript("DROP TABLE rates; PRAGMA user_version = 1;")
    database.close()
    assert ask("worst") == before
    assert len(ask("trend", "correctness")["points"]) == 1
    store.index.drop()
    assert ask("worst") == before


def test_the_index_follows_runs_that_were_removed_or_broken(store: Store, ask: Ask) -> None:
    import shutil

    gone, broken, _ = (add_run(store, day, {f"s{day}": "f"}) for day in (1, 2, 3))
    assert len(ask("worst")["scenarios"]) == 3
    shutil.rmtree(gone.path)
    (broken.path / "plan.json").write_text("nonsense")
    (broken.path / "scores.jsonl").touch()
    assert "s1" not in names(ask("worst"))
    assert "s3" in names(ask("worst"))


def test_an_index_that_cannot_be_used_is_an_error_and_no_empty_answer(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    add_run(store, 1, {"a": "f"})
    (store.root / "index.sqlite").mkdir()
    with pytest.raises(SystemExit) as ended:
        main(["runs", "worst", "--store", str(store.root)])
    assert ended.value.code == 6
    assert "cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("trend", "safety"), ("worst",), ("flakiest",), ("costly",)])
def test_an_empty_or_missing_store_has_nothing_to_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["runs", *command, "--store", str(tmp_path / "none")])
    assert ended.value.code == 0
    assert "nothing found" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_text_is_a_table_with_inert_text(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    add_run(store, 1, {"a": "pf"}, pack="co\x1b[31mre")
    for command, head in ((("trend", "correctness"), "95 % interval"), (("flakiest",), "mixed"), (("costly",), "cost")):
        with pytest.raises(SystemExit):
            main(["runs", *command, "--store", str(store.root)])
        out = capsys.readouterr().out
        assert head in out
        assert "co\\x1b[31mre" in out
        assert "\x1b" not in out


def test_a_name_with_quotes_is_only_a_name(store: Store, ask: Ask) -> None:
    add_run(store, 1, {"a": "f"})
    assert ask("worst", "--agent", "good' OR '1'='1")["scenarios"] == []

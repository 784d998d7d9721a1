"""`fumehood runs export --to atif|otel` and `fumehood runs trajectory`, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from harness.cli.main import main
from harness.store.store import Store
from tests.unit.report.harbor import validated

from .conftest import add_run

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["runs", *map(str, args)])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.mark.parametrize("form", ["atif", "otel"])
def test_a_file_holds_a_trial_a_line(store: Store, tmp_path: Path, call: Call, form: str) -> None:
    add_run(store, 1, {"a": "pf", "b": "p"})
    file = tmp_path / "out.jsonl"
    assert call("export", "last", "--to", form, "-o", file, "--store", store.root)[0] == 0
    documents = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(documents) == 3
    assert file.read_bytes().isascii()
    if form == "atif":
        assert not any("error" in again for again in validated(documents))


def test_an_inspect_log_holds_a_sample_a_trial(store: Store, tmp_path: Path, call: Call) -> None:
    add_run(store, 1, {"a": "pf", "b": "p"})
    file = tmp_path / "out.eval"
    assert call("export", "last", "--to", "inspect", "-o", file, "--store", store.root)[0] == 0
    with ZipFile(file) as log:
        samples = sorted(name for name in log.namelist() if name.startswith("samples/"))
    assert samples == ["samples/a_epoch_1.json", "samples/a_epoch_2.json", "samples/b_epoch_1.json"]


def test_a_folder_holds_a_file_a_trial(store: Store, tmp_path: Path, call: Call) -> None:
    add_run(store, 1, {"a": "pf"})
    folder = tmp_path / "out"
    folder.mkdir()
    assert call("export", "last", "--to", "atif", "-o", folder, "--store", store.root)[0] == 0
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.json")) == [
        "good/a/1.json",
        "good/a/2.json",
    ]
    code, _, err = call("export", "last", "--to", "atif", "-o", folder, "--store", store.root)
    assert (code, "is not empty" in err) == (2, True)


def test_a_form_for_the_whole_run_is_refused_a_folder(store: Store, tmp_path: Path, call: Call) -> None:
    add_run(store, 1, {"a": "p"})
    code, _, err = call("export", "last", "--to", "csv", "-o", tmp_path, "--store", store.root)
    assert (code, "is one file for the whole run" in err) == (2, True)


def test_a_changed_journal_leaves_no_file(store: Store, tmp_path: Path, call: Call) -> None:
    run = add_run(store, 1, {"a": "p"})
    (journal,) = (run.path / "trials").rglob("1.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b"note 0", b"note 9"))
    code, _, err = call("export", "last", "--to", "atif", "-o", tmp_path / "x.jsonl", "--store", store.root)
    assert (code, "does not follow" in err) == (1, True)
    assert not (tmp_path / "x.jsonl").exists()


def test_a_trajectory_of_others_is_shown_as_reported_and_inert(tmp_path: Path, call: Call) -> None:
    file = tmp_path / "trajectory.json"
    steps = [
        {"step_id": 1, "source": "user", "message": "go \x1b[31m"},
        {"step_id": 2, "source": "agent", "message": "ok"},
    ]
    file.write_text(json.dumps({"schema_version": "ATIF-v1.6", "agent": {"name": "a", "version": "1"}, "steps": steps}))
    code, out, _ = call("trajectory", file)
    assert code == 0
    assert out.count("reported") == 3
    assert "\x1b" not in out
    events = json.loads(call("trajectory", file, "--format", "json")[1])["events"]
    assert [event["kind"] for event in events] == ["ready", "invoke", "trajectory"]
    file.write_text("{}")
    code, _, err = call("trajectory", file)
    assert (code, "is no ATIF document" in err) == (2, True)

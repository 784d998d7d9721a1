"""Evidence that was changed after the run is named: which file, which line."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.domain.ids import TrialKey
from harness.store.run import StoredRun
from harness.store.store import Store
from tests.e2e.rig import fumehood, last, run_puppet, scenario, write_pack

pytestmark = pytest.mark.engine
TOOL = {"description": "Looks.", "input_schema": {"type": "object"}, "replies": [{"return": "found"}]}
CODE = "call('look'); note('a'); note('b'); finish('done')"


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one finished run of two trials."""
    folder = tmp_path_factory.mktemp("sealed")
    pack = write_pack(folder, scenario("one", CODE, allowed_tools=["look"], trials=2), tools={"look": TOOL})
    assert run_puppet(pack, folder / "store").returncode == 0
    return folder / "store"


@pytest.fixture
def store(sealed: Path, tmp_path: Path) -> Path:
    """A copy of it, to tamper with."""
    return Path(shutil.copytree(sealed, tmp_path / "store"))


def journal(run: StoredRun, trial: int = 1) -> Path:
    return run.journal(TrialKey("puppet", "one", trial))


def flip(path: Path, line: int, at: int = -10) -> None:
    """Change one byte within one line."""
    lines = path.read_bytes().splitlines(keepends=True)
    text = bytearray(lines[line - 1])
    text[at] ^= 1
    lines[line - 1] = bytes(text)
    path.write_bytes(b"".join(lines))


def test_a_run_as_it_was_sealed_verifies(sealed: Path) -> None:
    done = fumehood("audit", "verify", "last", "--store", sealed)
    assert done.returncode == 0
    assert re.search(r"\(sealed\): ok; 2 journals, \d+ lines checked", done.stdout)
    assert re.search(r"manifest sha256 [0-9a-f]{64}", done.stdout)


def test_one_byte_of_any_line_is_found_and_the_line_named(store: Path) -> None:
    path = journal(last(store))
    original = path.read_bytes()
    name = "trials/puppet/one/1.jsonl"
    for line in range(1, original.count(b"\n") + 1):
        flip(path, line)
        done = fumehood("audit", "verify", "last", "--store", store)
        assert done.returncode == 1, done.stdout
        assert f"{name}, line {line}: " in done.stdout
        assert "1 files differ" in done.stdout
        path.write_bytes(original)
    assert fumehood("audit", "verify", "last", "--store", store).returncode == 0


def drop_line(run: StoredRun) -> None:
    lines = journal(run).read_bytes().splitlines(keepends=True)
    journal(run).write_bytes(b"".join(lines[:3] + lines[4:]))


def swap(run: StoredRun) -> None:
    first, second = journal(run).read_bytes(), journal(run, 2).read_bytes()
    journal(run).write_bytes(second)
    journal(run, 2).write_bytes(first)


def cut(run: StoredRun) -> None:
    journal(run).write_bytes(b"".join(journal(run).read_bytes().splitlines(keepends=True)[:-1]))


def replace(name: str, old: str, new: str) -> Callable[[StoredRun], None]:
    def edit(run: StoredRun) -> None:
        text = (run.path / name).read_text()
        assert old in text
        (run.path / name).write_text(text.replace(old, new))

    return edit


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (drop_line, "trials/puppet/one/1.jsonl, line 4: "),
        (swap, "trials/puppet/one/1.jsonl, line 1: belongs to another trial"),
        (cut, "trials/puppet/one/1.jsonl, line"),
        (lambda run: journal(run).unlink(), "trials/puppet/one/1.jsonl: missing"),
        (lambda run: shutil.copy(journal(run), journal(run).with_name("3.jsonl")), "one/3.jsonl: an extra file"),
        (replace("scores.jsonl", '"passed":true', '"passed":false'), "scores.jsonl: changed since"),
        (replace("plan.json", '"seed": 0', '"seed": 1'), "plan.json, line 1: changed since"),
        (replace("manifest.json", '"exit_code":0', '"exit_code":1'), "manifest.json, line 1: differs"),
    ],
    ids=["line dropped", "journals swapped", "cut short", "removed", "added", "scores", "plan", "manifest"],
)
def test_other_tampering_is_found_and_named(store: Path, tamper: Callable[[StoredRun], object], named: str) -> None:
    tamper(last(store))
    done = fumehood("audit", "verify", "last", "--store", store)
    assert done.returncode == 1, done.stdout + done.stderr
    assert named in done.stdout
    assert "Traceback" not in done.stderr
    told = json.loads(fumehood("audit", "verify", "last", "--store", store, "--format", "json").stdout)
    assert told["ok"] is False


def test_a_changed_run_is_not_gone_on_with(store: Path) -> None:
    flip(journal(last(store)), 2)
    done = fumehood("run", "--resume", "last", "--store", store)
    assert done.returncode == 1
    assert "was changed since it was sealed" in done.stderr
    assert (last(store).path / "manifest.json").is_file()


def test_the_index_is_rebuilt_from_the_files(store: Path) -> None:
    before = fumehood("runs", "list", "--store", store).stdout
    (store / "index.sqlite").write_bytes(b"not a database")
    assert fumehood("runs", "list", "--store", store).stdout == before
    (store / "index.sqlite").unlink(missing_ok=True)
    assert fumehood("runs", "list", "--store", store).stdout == before
    Store(store).refresh_index()
    assert len(Store(store).index.stamps()) == 1

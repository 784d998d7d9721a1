"""`fumehood report`, as a user meets it: a page from a stored run, alone and against another."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.app.packs import load
from harness.boundary.redaction import Scrubber
from harness.cli.main import main
from harness.domain.events import Source
from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
from harness.domain.pack import Pack
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import TrialVerdict
from harness.scoring.bars import judge_run
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store
from tests.unit.report.pages import transcript, verdict
from tests.unit.report.test_html_page import index_of
from tests.unit.report.test_html_parts import unpacked

PACK = """\
fumehood: 1
pack: {name: small, version: 1.0.0}
bars: {correctness: 0.5}
scenarios:
  - {id: first, input: hello, family: greeting, goal: greets, expected: {type: contains, value: hi}}
"""
SELFTEST = """\
fumehood: 1
pack: {name: probes, version: 1.0.0}
scenarios:
  - {id: first, input: hello, selftest: {probe: healthy, end: completed, blame: agent}}
"""
Cli = Callable[..., tuple[int, str]]
Make = Callable[..., StoredRun]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def cli(store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    """(exit code, standard error); standard output must stay empty."""

    def call(*args: str, output: str = "page.html") -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["report", *args, "-o", str(tmp_path / output), "--store", str(store.root)])
        out, err = capfd.readouterr()
        assert out == ""
        return int(ended.value.code or 0), err

    return call


@pytest.fixture
def make(store: Store, tmp_path: Path) -> Make:
    """Stores a run of two trials of one scenario; the second passed or not. `journals`: whether evidence is kept."""

    def made(passed: bool = True, seal: bool = True, pack: str = PACK, journals: bool = True) -> StoredRun:
        (tmp_path / "pack.yaml").write_text(pack)
        loaded = load(tmp_path / "pack.yaml")
        stored = store.create_run(plan_of(loaded), loaded)
        trials = [verdict(TrialKey("desk", "first", 1)), verdict(TrialKey("desk", "first", 2), passed)]
        writer = RunWriter(stored, Scrubber({}))
        for one in trials:
            if journals:
                keep(writer, one)
            writer.put_verdict(one)
        if seal:
            writer.seal("2025-03-04T05:07:00Z", True, msgspec.to_builtins(judge_run(trials, loaded.bars, 2)))
        return stored

    return made


def keep(writer: RunWriter, trial: TrialVerdict) -> None:
    journal = writer.open_journal(trial.key, Scrubber({}))
    for event in transcript():
        source: Source = event.source
        journal.append(event.kind, source, event.t, event.data)
    journal.close()


def plan_of(pack: Pack) -> RunPlan:
    return RunPlan(
        created="2025-03-04T05:06:07Z",
        harness="0.1.0",
        protocols=("1.0",),
        pack=PackRef(pack.name, pack.version, pack.digest, pack.path),
        agents=(AgentRef("desk", "desk:1"),),
        rows=(PlanRow("desk", "first", 2),),
        seed=7,
        jobs=2,
        policy=Policy(),
        limits=Limits(),
    )


def page_at(tmp_path: Path) -> str:
    return (tmp_path / "page.html").read_text()


def test_the_page_is_written_and_what_it_holds_is_told(cli: Cli, make: Make, tmp_path: Path) -> None:
    make(passed=False)
    code, err = cli("last")
    assert code == 0
    assert re.fullmatch(r".*page\.html: 2 trials, 0\.\d MiB\n", err)
    index = index_of(page_at(tmp_path))
    assert index["scenarios"] == [["first", "greeting", "happy", "greets"]]
    blocks = unpacked(page_at(tmp_path).encode())
    assert [len(record["e"]) for block in blocks for record in block] == [len(transcript())] * 2


def test_an_earlier_file_is_replaced_and_kept_where_the_new_one_fails(cli: Cli, make: Make, tmp_path: Path) -> None:
    make()
    (tmp_path / "page.html").write_text("old")
    assert cli("nosuchrun")[0] == 2
    assert page_at(tmp_path) == "old"
    assert cli("last")[0] == 0
    assert page_at(tmp_path).startswith("<!DOCTYPE html>")
    assert cli("last", output="no-folder/page.html")[0] == 2


def test_against_another_run_both_transcripts_are_there(cli: Cli, make: Make, tmp_path: Path) -> None:
    before = make()
    now = make(passed=False)
    assert cli(now.run_id, "--against", before.run_id)[0] == 0
    page = page_at(tmp_path)
    assert index_of(page)["pairs"] == {"desk/first/2": ["regressed", "desk/first/2", 0, 0]}
    ((base,),) = unpacked(page[page.index('id="b0"') - 60 :].encode(), "b")
    assert base["v"]["passed"] is True
    assert "Regressed" in page


def test_against_a_baseline_whose_run_is_gone_the_comparison_stands_alone(
    cli: Cli, make: Make, store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = make()
    with pytest.raises(SystemExit):
        main(["baseline", "save", "golden", before.run_id, "--store", str(store.root), "--dir", str(tmp_path / "kept")])
    capfd.readouterr()
    before.path.rename(tmp_path / "elsewhere")
    make(passed=False)
    assert cli("last", "--against", "golden")[0] == 2
    assert cli("last", "--against", "golden", "--dir", str(tmp_path / "kept"))[0] == 0
    assert "Against golden" in page_at(tmp_path)
    assert index_of(page_at(tmp_path))["pairs"] == {}


def test_a_scoring_that_is_not_there_is_refused(cli: Cli, make: Make, tmp_path: Path) -> None:
    make()
    code, err = cli("last", "--scoring", "3")
    assert code == 2
    assert "has no scoring 3" in err
    assert not (tmp_path / "page.html").exists()
    assert cli("last", "--scoring", "1")[0] == 0
    assert cli("last", "--scoring", "1", "--against", "last")[0] == 2


def test_a_run_that_broke_off_is_shown_as_far_as_it_came(cli: Cli, make: Make, tmp_path: Path) -> None:
    make(seal=False)
    assert cli("last")[0] == 0
    assert "This run is interrupted" in page_at(tmp_path)


def test_evidence_that_is_gone_is_told_where_it_should_stand(cli: Cli, make: Make, tmp_path: Path) -> None:
    make(journals=False)
    assert cli("last")[0] == 0
    (block,) = unpacked(page_at(tmp_path).encode())
    assert ["first" in record["broken"] for record in block] == [True, True]


def test_a_self_test_speaks_of_fumehood_and_shows_the_probes_transcript(cli: Cli, make: Make, tmp_path: Path) -> None:
    make(pack=SELFTEST)
    assert cli("last")[0] == 0
    index = index_of(page_at(tmp_path))
    assert index["agents"] == ["selftest"]
    assert len(index["rows"]) == 2
    (block,) = unpacked(page_at(tmp_path).encode())
    assert len(block[0]["e"]) == len(transcript())

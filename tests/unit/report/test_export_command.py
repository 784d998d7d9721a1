"""`fumehood runs export`, as a user meets it: each form from a stored run, to a file or to standard output."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from junitparser import JUnitXml

from harness.app.export import FORMATS
from harness.app.packs import load
from harness.boundary.redaction import Scrubber
from harness.cli.main import main
from harness.domain.limits import Limits
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.scoring.bars import judge_run
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store
from tests.unit.report.trials import GOOD, MAJOR, trial

PACK = """\
fumehood: 1
pack: {name: small, version: 1.0.0}
scenarios:
  - {id: first, input: hello, family: greeting, expected: {type: contains, value: hi}}
  - {id: second, input: bye, family: parting, expected: {type: contains, value: bye}}
"""
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def cli(store: Store, capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["runs", "export", *args, "--store", str(store.root)])
        out, err = capfdbinary.readouterr()
        return int(ended.value.code or 0), out.decode(errors="surrogateescape"), err.decode()

    return call


@pytest.fixture
def run(store: Store, tmp_path: Path) -> StoredRun:
    """Two scenarios of two trials each: one trial failed, one is missing; sealed with its verdict."""
    (tmp_path / "pack.yaml").write_text(PACK)
    pack = load(tmp_path / "pack.yaml")
    plan = RunPlan(
        created="2025-03-04T05:06:07Z",
        harness="0.1.0",
        protocols=("1.0",),
        pack=PackRef(pack.name, pack.version, pack.digest, pack.path),
        agents=(AgentRef("a", "a:1"),),
        rows=tuple(PlanRow("a", scenario.id, 2) for scenario in pack.scenarios),
        seed=7,
        jobs=2,
        policy=Policy(),
        limits=Limits(),
    )
    stored = store.create_run(plan, pack)
    verdicts = [trial(GOOD, scenario="first"), trial(MAJOR, scenario="first", n=2), trial(GOOD, scenario="second")]
    writer = RunWriter(stored, Scrubber({}))
    for verdict in verdicts:
        journal = writer.open_journal(verdict.key, Scrubber({}))
        journal.append("end", "harness", 9, {})
        journal.close()
        writer.put_verdict(verdict)
    writer.seal("2025-03-04T05:07:00Z", False, msgspec.to_builtins(judge_run(verdicts, {}, 4)))
    return stored


def test_junit_holds_every_planned_trial(cli: Cli, run: StoredRun) -> None:
    code, out, err = cli(run.run_id, "--to", "junit")
    assert (code, err) == (0, "")
    (suite,) = JUnitXml.fromstring(out.encode())
    assert [(case.classname, case.name, [found.type for found in case.result]) for case in suite] == [
        ("a.greeting.first", "first #1", []),
        ("a.greeting.first", "first #2", ["regex"]),
        ("a.parting.second", "second #1", []),
        ("a.parting.second", "second #2", ["missing"]),
    ]


def test_csv_has_the_families(cli: Cli, run: StoredRun) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("last", "--to", "csv")[1], newline="")))
    assert [(row["family"], row["trial"], row["status"]) for row in rows] == [
        ("greeting", "1", "pass"), ("greeting", "2", "fail"), ("parting", "1", "pass"),
    ]  # fmt: skip


def test_markdown_says_what_the_run_came_to(cli: Cli, run: StoredRun) -> None:
    out = cli("last", "--to", "markdown")[1]
    assert out.startswith("## ❌ NO VERDICT: too little was scored to say yes or no\n")
    assert "| `a` | `greeting` | 50% |" in out
    assert "1 of 4 planned trials have no verdict" in out


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_file_holds_what_standard_output_would(form: str, cli: Cli, run: StoredRun, tmp_path: Path) -> None:
    said = cli("last", "--to", form)[1]
    assert cli("last", "--to", form, "-o", str(tmp_path / "out")) == (0, "", "")
    assert (tmp_path / "out").read_bytes() == said.encode(errors="surrogateescape")
    assert len(said) > 100


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nope", "--to", "csv"), "error: no run 'nope'"),
        (("last", "--to", "csv", "-o", "/nowhere/out.csv"), "there is no folder /nowhere\n  do: make it first"),
        (("last", "--to", "pdf"), "'pdf' is not one of"),
    ],
)
def test_what_cannot_be_is_a_usage_error(args: tuple[str, ...], message: str, cli: Cli, run: StoredRun) -> None:
    code, out, err = cli(*args)
    assert (code, out) == (2, "")
    assert message in err


def test_a_run_that_has_no_verdict_yet_has_no_summary_but_its_trials(cli: Cli, run: StoredRun) -> None:
    (run.path / "manifest.json").unlink()
    code, out, err = cli("last", "--to", "markdown")
    assert (code, out) == (2, "")
    assert f"has no verdict yet\n  do: fumehood run --resume {run.run_id}" in err
    assert cli("last", "--to", "junit")[0] == 0

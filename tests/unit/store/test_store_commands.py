"""`fumehood audit` and `fumehood runs`, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.cli.main import main
from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.verdict import ExitCode, Property, PropertyRate, RunVerdict
from harness.report.transcript import transcript_line
from harness.store.run import RunWriter, StoredRun
from harness.store.store import Store

from .conftest import NO_SECRETS, plan_of, verdict_of

MakeRun = Callable[..., StoredRun]
Cli = Callable[..., tuple[int, str, str]]
KEY = TrialKey("good", "case-0", 1)


@pytest.fixture
def cli(store: Store, capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*args, "--store", str(store.root)])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_audit_verify_says_ok_and_names_the_digest(cli: Cli, make_run: MakeRun) -> None:
    run = make_run()
    code, out, err = cli("audit", "verify", "last")
    assert code == 0
    assert f"run {run.run_id} (sealed): ok; 4 journals, 16 lines checked" in out
    assert "manifest sha256 " in out
    assert "note: a manifest proves" in err


def test_audit_verify_names_file_and_line_and_exits_1(cli: Cli, make_run: MakeRun) -> None:
    run = make_run()
    path = run.journal(KEY)
    path.write_bytes(path.read_bytes().replace(b"note 1", b"note 7"))
    code, out, _ = cli("audit", "verify", run.run_id)
    assert code == 1
    assert "trials/good/case-0/1.jsonl, line 3: changed" in out
    code, out, _ = cli("audit", "verify", run.run_id, "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert report["ok"] is False
    assert [(m["file"], m["line"]) for m in report["mismatches"]] == [("trials/good/case-0/1.jsonl", 3)]


def test_audit_verify_still_works_where_the_plan_is_broken_or_gone(cli: Cli, make_run: MakeRun) -> None:
    run = make_run()
    (run.path / "plan.json").write_text("nonsense")
    code, out, _ = cli("audit", "verify", "last")
    assert code == 1
    assert "plan.json, line 1: changed since the run was sealed" in out
    (run.path / "plan.json").unlink()
    assert cli("audit", "verify", "last")[0] == 1


@pytest.mark.parametrize("args", [("audit", "verify", "nope"), ("runs", "show", "nope")])
def test_an_unknown_run_is_a_usage_error_with_a_remedy(cli: Cli, args: tuple[str, ...]) -> None:
    code, out, err = cli(*args)
    assert (code, out) == (2, "")
    assert "error: no run 'nope'" in err
    assert "do: fumehood runs list" in err


def test_runs_list_shows_each_run_newest_first(cli: Cli, store: Store, make_run: MakeRun) -> None:
    code, out, err = cli("runs", "list")
    assert (code, out) == (0, "")
    assert "no runs in" in err
    done = make_run(passed=False)
    newer = store.create_run(plan_of(run_id="20990101-000000-abcdef"))
    code, out, _ = cli("runs", "list")
    lines = out.splitlines()
    assert code == 0
    assert lines[2].split() == [
        newer.run_id,
        *["core", "1.0.0", "good", "0/4", "0", "interrupted"],
    ]
    assert lines[3].split() == [done.run_id, "core", "1.0.0", "good", "4/4", "0", "FAIL"]
    listed = json.loads(cli("runs", "list", "--format", "json")[1])["runs"]
    assert [run["run_id"] for run in listed] == [newer.run_id, done.run_id]
    assert listed[1]["exit_code"] == 1


def sealed_with_verdict(store: Store) -> StoredRun:
    run = store.create_run(plan_of())
    writer = RunWriter(run, NO_SECRETS)
    for key in run.plan.cells():
        journal = writer.open_journal(key, NO_SECRETS)
        for kind, source, data in EVENTS:
            journal.append(kind, source, 1234, data)
        journal.close()
        writer.put_verdict(verdict_of(key, key.scenario == "case-0", "got \x1b[31m'b' [bold]"))
    rate = PropertyRate("good", Property.CORRECTNESS, 2, 4, 0.5, 0.15, 0.85, 0.9, False)
    verdict = RunVerdict((rate,), 4, 4, 2, 0, 0, 0, 0, ExitCode.BAR_MISSED, ("correctness of good is below its bar",))
    writer.seal("2025-03-04T05:07:00Z", True, msgspec.to_builtins(verdict))
    return run


HOSTILE = {"q": "a\n\x1b]52;c;x\x07"}
EVENTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("trial", "harness", {"agent": "good"}),
    ("tool_call", "observed", {"id": "1", "name": "look", "arguments": HOSTILE, "decision": "denied"}),
    ("tool_result", "observed", {"id": "1", "name": "look", "status": "denied", "content": None, "reason": "no grant"}),
    ("note", "reported", {"level": "info", "text": "tick \u202e[red]" + "x" * 1000}),
    ("trajectory", "reported", {"status": "completed", "output": {"text": "42"}, "steps": [], "usage": None}),
    ("violation", "observed", {"rule": "disallowed_tool", "name": "look", "reason": "it is on the list"}),
    ("end", "harness", {"end": "completed", "blame": "agent", "reason": "it answered"}),
]  # fmt: skip


def test_runs_show_prints_scenarios_and_the_verdict(cli: Cli, store: Store) -> None:
    run = sealed_with_verdict(store)
    code, out, _ = cli("runs", "show", "last")
    assert code == 0
    assert "case-0" in out
    assert "completed 2" in out
    assert "correctness of good is below its bar" in out
    assert "\x1b" not in out
    document = json.loads(cli("runs", "show", run.run_id, "--format", "json")[1])
    assert document["verdict"]["exit_code"] == 1
    assert document["scenarios"] == [
        {"agent": "good", "scenario": "case-0", "trials": 2, "passed": 2, "ends": {"completed": 2}},
        {"agent": "good", "scenario": "case-1", "trials": 2, "passed": 0, "ends": {"completed": 2}},
    ]


def test_runs_show_of_an_unfinished_run_has_no_verdict(cli: Cli, make_run: MakeRun) -> None:
    make_run(sealed=False)
    code, out, _ = cli("runs", "show", "last")
    assert code == 0
    assert "interrupted" in out
    assert json.loads(cli("runs", "show", "last", "--format", "json")[1])["verdict"] is None


@pytest.mark.parametrize(
    "option", [("--trials", "9"), ("--only", "x"), ("--seed", "4"), ("--limit", "pids=9"), ("--agent", "x")]
)
def test_what_a_plan_fixes_cannot_be_given_with_resume(cli: Cli, make_run: MakeRun, option: tuple[str, str]) -> None:
    make_run(sealed=False)
    code, out, err = cli("run", "--resume", "last", *option)
    assert (code, out) == (2, "")
    assert f"error: --resume takes {option[0]} from the run" in err


def test_a_transcript_is_one_inert_line_an_event_with_its_source(cli: Cli, store: Store) -> None:
    sealed_with_verdict(store)
    code, out, _ = cli("runs", "show", "last", "good/case-0/1")
    lines = out.splitlines()
    assert code == 0
    assert lines[len(EVENTS) : len(EVENTS) + 2] == ["", "Checks"]
    assert not set("\x1b\x07\u202e\r") & set(out)
    assert lines[1].split()[:4] == ["2", "1.234s", "observed", "tool_call"]
    assert "denied" in lines[1]
    assert "reported note" in lines[3]
    assert r"info: tick \u202e[red]xxx" in lines[3]
    assert "more characters: --format json)" in lines[3]
    assert "disallowed_tool look: it is on the list" in lines[5]
    assert "completed, blame agent: it answered" in lines[6]


def test_a_transcript_as_json_is_one_document_with_everything(cli: Cli, store: Store) -> None:
    sealed_with_verdict(store)
    code, out, _ = cli("runs", "show", "last", "good/case-0/1", "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert out.isascii()
    assert document["problem"] is None
    assert [(e["kind"], e["source"], e["data"]) for e in document["events"]] == EVENTS
    assert [c["status"] for c in document["checks"]] == ["pass"]


def test_a_cut_off_transcript_shows_what_there_is_and_exits_1(cli: Cli, make_run: MakeRun) -> None:
    run = make_run(sealed=False)
    path = run.journal(KEY)
    path.write_bytes(path.read_bytes()[:-20])
    code, out, err = cli("runs", "show", "last", "good/case-0/1")
    assert code == 1
    assert len(out.splitlines()) == 3
    assert "line 4: cut off" in err
    code, out, _ = cli("runs", "show", "last", "good/case-0/1", "--format", "json")
    document = json.loads(out)
    assert code == 1
    assert len(document["events"]) == 3
    assert "line 4: cut off" in document["problem"]


@pytest.mark.parametrize(
    ("kind", "data", "shown"),
    [
        ("ready", {"agent": {"name": "a", "version": "1"}, "protocol": ["1.0"]}, 'a 1, protocol ["1.0"]'),
        ("ready", {"agent": 7}, "7, protocol null"),
        ("invoke", {"input": "hi", "tools": [{"name": "look", "input_schema": {}}]}, 'tools ["look"], input: hi'),
        ("exit", {"code": 137, "oom_killed": True, "signal": None, "peak_memory_bytes": 2**20}, "oom_killed, 1.0 MiB"),
        ("stderr", {"text": "x" * 900 + " KeyError: 'k'\n"}, "xx KeyError: 'k'"),
        ("cancel", {"end": "pack_error", "reason": "no reply", "detail": {}}, "pack_error: no reply"),
    ],
)
def test_a_transcript_says_in_words_what_a_message_holds(kind: str, data: dict[str, Any], shown: str) -> None:
    assert shown in transcript_line(Event(kind, "harness", 0, data, 1)).plain


@pytest.mark.parametrize("trial", ["good/case-0/9", "good/case-0", "../../etc/passwd/1", "good/case-0/²", "x"])
def test_an_unknown_trial_is_a_usage_error(cli: Cli, make_run: MakeRun, trial: str) -> None:
    make_run()
    code, _, err = cli("runs", "show", "last", trial)
    assert code == 2
    assert "has no trial" in err


def test_a_trial_that_was_not_run_yet_says_so(cli: Cli, store: Store) -> None:
    store.create_run(plan_of())
    code, _, err = cli("runs", "show", "last", "good/case-0/1")
    assert code == 2
    assert "has not been run yet" in err


@pytest.mark.parametrize("command", [("audit",), ("audit", "verify"), ("runs",), ("runs", "list"), ("runs", "show")])
def test_help_has_an_example(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert "Example:\n" in capsys.readouterr().out


def test_the_default_store_is_the_hidden_folder_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Store().create_run(plan_of())
    with pytest.raises(SystemExit):
        main(["runs", "list"])
    assert run.run_id in capsys.readouterr().out


def test_a_run_of_many_agents_still_takes_one_line(cli: Cli, store: Store) -> None:
    plan = plan_of()
    agents = tuple(msgspec.structs.replace(plan.agents[0], name=f"probe-{i}") for i in range(40))
    store.create_run(msgspec.structs.replace(plan, agents=agents))
    assert "probe-0, probe-1, probe-2 and 37 more" in cli("runs", "list")[1]

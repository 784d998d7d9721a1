"""`fumehood score` as a user meets it, on runs made by the real run loop over the engine in memory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from harness.app import packs
from harness.ports import JudgePrompt
from harness.runs.plan import probe_agent
from harness.store.run import StoredRun
from harness.store.store import Store
from harness.store.verify import verify_run
from harness.testing.engine import Inside
from harness.testing.judge import KeywordJudge
from tests.openai_server import OpenAIServer, hangs
from tests.support import line
from tests.unit.app import memory_runs
from tests.unit.app.memory_runs import Cli, write_pack

WANTED = {"type": "contains", "value": "done"}
JUDGED = {"check": "task_completion", "criteria": ['The answer contains "done"']}


def scenario(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "input": name, **more}


async def echo_agent(inside: Inside) -> int:
    """Answers with its input and `done`; says nothing at all to `silent`."""
    await inside.write(line(type="ready", protocol=["1.0"], agent={"name": "echo"}))
    said = json.loads(await inside.read_line() or b"{}")["input"]
    output = {} if said == "silent" else {"text": f"{said} done"}
    await inside.write(line(type="trajectory", status="completed", output=output))
    return 0


def stored_run(store: Store, path: Path, trials: int = 2, **more: Any) -> StoredRun:
    """A run of the pack by the echo agent."""
    probes = {probe_agent(s.selftest.probe) for s in packs.load(path).scenarios if s.selftest}
    (name,) = probes or {"echo"}
    return memory_runs.stored_run(store, path, echo_agent, name=name, trials=trials, **more)


def kept(run: StoredRun) -> list[str]:
    folder = run.path / "scorings"
    return sorted(name for name in os.listdir(folder) if name != "lock") if folder.is_dir() else []


def test_scoring_again_needs_no_engine_and_says_what_the_run_said(cli: Cli, store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a", expected=WANTED), scenario("silent", expected=WANTED)))
    sealed = (run.path / "manifest.json").read_bytes()
    # the pack's file is not needed either: the run holds a copy
    (tmp_path / "made-up.json").unlink()
    code, out, err = cli("score", "last")
    assert (code, run.head().verdict["exit_code"]) == (1, 1)
    assert "FAIL (exit 1)" in out
    assert out.splitlines()[-1] == "Scoring 2: FAIL, as in scoring 1; every trial as before"
    assert f"scoring 2 of run {run.run_id}: 4 trials" in err
    assert "WARNING" not in err
    by_key = {verdict.key: verdict for verdict in run.scores(1)}
    assert {verdict.key: verdict for verdict in run.scores(2)} == by_key
    assert [verdict.key for verdict in run.scores(2)] == list(run.plan.cells())
    assert run.scoring(2).verdict == run.head().verdict
    assert (run.path / "manifest.json").read_bytes() == sealed
    assert verify_run(run.path).ok


LOADED = """
import json, sys
from harness.cli.main import main
try:
    main(["score", "last", "--store", sys.argv[1]])
except SystemExit as ended:
    names = {name.split(".")[0] for name in sys.modules} | {".".join(name.split(".")[:2]) for name in sys.modules}
    print(json.dumps([ended.code, sorted(names & {"docker", "openai", "harness.engines"})]))
"""


def test_no_code_that_could_start_an_agent_is_even_loaded(store: Store, tmp_path: Path) -> None:
    stored_run(store, write_pack(tmp_path, scenario("a", expected=WANTED)), trials=1)
    command = [sys.executable, "-c", LOADED, str(store.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []]


def test_another_pack_is_said_aloud_recorded_and_what_it_changes_told(cli: Cli, store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a", expected=WANTED), scenario("b", expected=WANTED)))
    harder = {"type": "contains", "value": "never said"}
    other = write_pack(tmp_path, scenario("a", expected=WANTED), scenario("b", expected=harder), name="other")
    code, out, err = cli("score", "last", "--pack", other)
    assert code == 1
    assert "WARNING: scored by ANOTHER PACK than the run was made with: other 1 (sha256:" in err
    last = out.splitlines()[-1]
    assert last == "Scoring 2: FAIL, was PASS in scoring 1; 2 trials no longer pass (echo/b/1, echo/b/2)"
    head = run.scoring(2)
    assert (head.other_pack, head.pack.name) == (True, "other")
    assert "ANOTHER PACK" in head.note
    # back to the run's own pack: compared with the newest scoring, which is number 2
    code, out, err = cli("score", "last", "--format", "json")
    document = json.loads(out)
    assert (code, document["verdict"]["exit_code"]) == (0, 0)
    assert document["scoring"] == {
        "number": 3,
        "previous": 2,
        "exit_before": 1,
        "exit_now": 0,
        "no_longer_pass": 0,
        "first_no_longer_pass": [],
        "pass_now": 2,
        "first_pass_now": ["echo/b/1", "echo/b/2"],
    }
    assert (run.scoring(3).other_pack, run.scoring(3).note) == (False, "")


def test_a_pack_without_the_runs_scenarios_is_refused_by_name(cli: Cli, store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a"), scenario("b"), scenario("c")), trials=1)
    code, out, err = cli("score", "last", "--pack", write_pack(tmp_path, scenario("b"), name="other"))
    assert (code, out) == (2, "")
    assert "error: pack other 1 has no scenario a, c, which the run has" in err
    assert kept(run) == []


def test_trials_without_a_finished_journal_are_missing(cli: Cli, store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a", expected=WANTED)), trials=4, done=3, seal=False)
    half = run.journal(next(iter(run.plan.cells()))).with_name("4.jsonl")
    half.write_bytes(b'{"n":1,')
    code, out, _ = cli("score", "last")
    assert code == 6
    assert "1 of 4 planned trials have no verdict" in out
    assert len(list(run.scores(2))) == 3


@pytest.mark.parametrize(("rate", "code"), [("0.6", 1), ("0.5", 0)])
def test_fail_under_gates_as_in_a_run(cli: Cli, store: Store, tmp_path: Path, rate: str, code: int) -> None:
    never = {"type": "contains", "value": "never said"}
    pack = write_pack(tmp_path, scenario("a", expected=WANTED), scenario("b", expected=never))
    pack.write_text(json.dumps({**json.loads(pack.read_text()), "bars": {"correctness": 0.5}}))
    stored_run(store, pack)
    assert cli("score", "last", "--fail-under", rate, "--strict-critical")[0] == code


def test_a_self_test_is_scored_as_one(cli: Cli, store: Store, tmp_path: Path) -> None:
    blank = {"probe": "blank", "end": "blank_completion", "blame": "agent"}
    good = {"probe": "blank", "end": "completed", "blame": "agent"}
    judged = {"checks": [JUDGED], "selftest": good}
    run = stored_run(store, write_pack(tmp_path, scenario("silent", selftest=blank), scenario("a", **judged)), 1)
    assert run.head().verdict["exit_code"] == 0
    code, out, _ = cli("score", "last")
    assert code == 0
    assert "every trial as before" in out
    wrong = write_pack(tmp_path, scenario("silent", selftest=good), scenario("a", **judged), name="wrong")
    code, out, _ = cli("score", "last", "--pack", wrong)
    assert code == 1
    assert "1 trial no longer passes (probe-blank/silent/1)" in out


@pytest.mark.parametrize(
    "arguments",
    ["score last", "runs show last", "runs export last --to junit", "baseline save b last", "compare last last",
     "report last --decision d.md", "budgets propose last"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["plan.json", "pack.json", "manifest.json", "scores.jsonl"])
def test_no_command_tells_of_a_run_by_files_that_were_changed(
    cli: Cli, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, arguments: str
) -> None:
    """A trial that fails, made to look better: left out of the plan, unchecked, sealed as fine, passed afterwards."""
    monkeypatch.chdir(tmp_path)
    never = {"type": "contains", "value": "never said"}
    run = stored_run(store, write_pack(tmp_path, scenario("a", expected=WANTED), scenario("b", expected=never)))
    path = run.path / name
    whole = path.read_bytes()
    better = {
        "plan.json": b'"trials": 0'.join(whole.rsplit(b'"trials": 2', 1)),
        "pack.json": whole.replace(b"never said", b""),
        "manifest.json": whole.replace(b'"exit_code":1', b'"exit_code":0'),
        "scores.jsonl": whole + whole.replace(b'"fail"', b'"pass"'),
    }[name]
    assert better != whole
    path.write_bytes(better)
    code, out, err = cli(*arguments.split())
    assert (code, out) == (1, "")
    assert f"was changed since it was sealed: {name}" in err or "manifest.json, line 1: differs" in err


def test_evidence_that_was_changed_is_no_score(cli: Cli, store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a", expected=WANTED)))
    journal = run.journal(next(iter(run.plan.cells())))
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b"a done", b"b done"))
    code, out, err = cli("score", "last")
    assert (code, out) == (1, "")
    assert "was changed since it was sealed: trials/echo/a/1.jsonl, line 5" in err
    journal.write_bytes(whole)
    copy = run.path / "pack.json"
    copy.write_bytes(copy.read_bytes().replace(b'"done"', b'"one"'))
    code, out, err = cli("score", "last")
    assert (code, out) == (1, "")
    assert "was changed since it was sealed: pack.json" in err
    assert kept(run) == []


def test_a_run_without_a_copy_of_its_pack_asks_for_one(cli: Cli, store: Store, tmp_path: Path) -> None:
    pack = write_pack(tmp_path, scenario("a", expected=WANTED))
    run = stored_run(store, pack, seal=False)
    (run.path / "pack.json").unlink()
    code, _, err = cli("score", "last")
    assert code == 2
    assert "do: score it with --pack PATH" in err
    assert cli("score", "last", "--pack", pack)[0] == 0


def keyword_answer(body: dict[str, Any]) -> str:
    system, user = (message["content"] for message in body["messages"])
    return anyio.run(KeywordJudge().ask, JudgePrompt(system, user, {})).text


def test_a_judge_settles_what_rules_left_open_and_is_not_asked_twice(cli: Cli, store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a", checks=[JUDGED]), scenario("b", checks=[JUDGED])))
    assert run.head().verdict["exit_code"] == 3
    assert cli("score", "last")[0] == 3
    with OpenAIServer(answer=keyword_answer) as server:
        judge = ("--judge", f"openai:m@{server.url}", "--judge-set", "samples=1")
        code, out, err = cli("score", "last", *judge)
        assert code == 0
        assert "Scoring 3: PASS, was NOT JUDGED in scoring 2; 4 trials pass now" in out
        assert "[4/4] pass" in err
        asked = len(server.requests)
        assert asked >= 1
        code, out, _ = cli("score", "last", *judge)
        assert code == 0
        assert len(server.requests) == asked
    head = run.scoring(3)
    assert head.judge is not None
    assert (head.judge.ref.model, head.judge.settings.samples) == ("m", 1)
    assert verify_run(run.path).ok


def test_interrupted_while_a_judge_is_waited_for_nothing_is_kept(store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a", checks=[JUDGED])), trials=3)
    with OpenAIServer(hangs()) as server:
        command = [Path(sys.executable).with_name("fumehood"), "score", "last", "--store", store.root]
        with subprocess.Popen(
            [*command, "--judge", f"openai:m@{server.url}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:  # fmt: skip
            end = time.monotonic() + 30
            while not server.requests:
                assert time.monotonic() < end, "the judge was never asked"
                time.sleep(0.02)
            assert len(kept(run)) == 1
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert kept(run) == []


def test_a_run_that_is_going_on_cannot_be_scored(cli: Cli, store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a", expected=WANTED)))
    with run.lock():
        code, out, err = cli("score", "last")
    assert (code, out) == (2, "")
    assert "is being run" in err


def test_runs_show_lists_the_scorings_and_shows_any_of_them(cli: Cli, store: Store, tmp_path: Path) -> None:
    run = stored_run(store, write_pack(tmp_path, scenario("a", expected=WANTED)))
    _, out, _ = cli("runs", "show", "last")
    assert "scoring" not in out
    harder = write_pack(tmp_path, scenario("a", expected={"type": "contains", "value": "no"}), name="other")
    assert cli("score", "last", "--pack", harder)[0] == 1
    _, out, _ = cli("runs", "show", "last")
    rows = [row.split() for row in out.splitlines()]
    assert ["1", "2025-03-04T05:06:07+00:00", "-", "the", "run's", "PASS"] in rows
    assert ["2", run.scoring(2).created, "-", "another", "FAIL", "shown"] in rows
    assert "FAIL (exit 1)" in out
    _, out, _ = cli("runs", "show", "last", "--scoring", "1")
    assert "PASS (exit 0)" in out
    document = json.loads(cli("runs", "show", "last", "--format", "json", "--scoring", "1")[1])
    assert (document["scoring"], document["verdict"]["exit_code"]) == (1, 0)
    assert [(one["number"], one["exit_code"], one["other_pack"]) for one in document["scorings"]] == [
        (1, 0, False),
        (2, 1, True),
    ]
    assert document["scenarios"][0]["passed"] == 2
    assert cli("runs", "show", "last", "--scoring", "7")[0] == 2
    assert cli("runs", "show", "last", "echo/a/1", "--scoring", "1")[0] == 2
    assert "1 later scorings" in cli("audit", "verify", "last")[1]


def test_a_judge_that_says_our_key_leaves_it_in_no_file(
    cli: Cli, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "an-opaque-key-of-a-judge"
    monkeypatch.setenv("FUMEHOOD_JUDGE_API_KEY", key)
    stored_run(store, write_pack(tmp_path, scenario("a", checks=[{"check": "task_completion"}])))

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        names = re.findall(r"^(c\d+-\w+): ", body["messages"][1]["content"], re.MULTILINE)
        said = {"quote": "", "reason": f"your key is {key}", "verdict": "not_met"}
        return {"criteria": [{"id": name, **said} for name in names]}

    with OpenAIServer(answer=answer) as server:
        assert cli("score", "last", "--judge", f"openai:m@{server.url}")[0] == 1
        asked = len(server.requests)
        assert cli("score", "last", "--judge", f"openai:m@{server.url}")[0] == 1
        assert len(server.requests) == asked > 0, "what was kept is still a reply"
    assert [path for path in store.root.rglob("*") if path.is_file() and key.encode() in path.read_bytes()] == []

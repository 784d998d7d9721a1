"""`fumehood judge calibrate` and `labels`: strict labels, real runs, and a judge behind real HTTP."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from rich.console import Console

from harness.app.calibrate import calibrate
from harness.app.labels import Question, read_labels
from harness.boundary.redaction import Scrubber
from harness.cli.main import main
from harness.domain.ids import TrialKey
from harness.domain.judge import JudgeRef, JudgeSettings
from harness.domain.limits import Limits
from harness.domain.outcome import Blame, End, Outcome, Usage
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import ExitCode, JudgeUse, Status
from harness.errors import UsageError
from harness.packs.load import load_pack
from harness.ports import JudgePrompt, JudgeReply
from harness.report.calibration import Calibration, JudgedLabel, calibration, render_calibration
from harness.scoring.judge.judge import Judge
from harness.scoring.registry import CATALOGUE
from harness.store.run import RunWriter
from harness.store.store import Store
from harness.testing.judge import KeywordJudge
from tests.openai_server import OpenAIServer, fails

Cli = Callable[..., tuple[int, str, str]]
RUN = "20250304-050607-abcdef"
PACK = """\
fumehood: 1
pack: {name: core, version: 1.0.0}
scenarios:
  - id: returns
    input: How long may I return it?
    checks:
      - {check: task_completion, criteria: ['The answer contains "60 days"']}
  - id: twice
    input: Where is it?
    checks:
      - {check: output_correctness, criteria: ['The answer contains "here"']}
      - {check: output_correctness, criteria: ['The answer contains "there"']}
      - {check: output_contains, value: here}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def cli(root: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["judge", *args, "--store", str(root)])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture
def run(tmp_path: Path, root: Path) -> str:
    """Trials of `returns` that answer 60 days, 30 days and nothing, and one of `twice`."""
    path = tmp_path / "pack.yaml"
    path.write_text(PACK)
    pack = load_pack(path, CATALOGUE)
    plan = RunPlan(
        created="2025-03-04T05:06:07Z",
        harness="0.1.0",
        protocols=("1.0",),
        pack=PackRef("core", "1.0.0", pack.digest, str(path)),
        agents=(AgentRef("good", "good:1"),),
        rows=(PlanRow("good", "returns", 4), PlanRow("good", "twice", 1)),
        seed=0,
        jobs=1,
        policy=Policy(),
        limits=Limits(),
        run_id=RUN,
    )
    writer = RunWriter(Store(root).create_run(plan, pack), Scrubber({}))
    for scenario, trial, text in (("returns", 1, "60 days"), ("returns", 2, "30 days"), ("twice", 1, "it is here")):
        answered(writer, TrialKey("good", scenario, trial), text)
    answered(writer, TrialKey("good", "returns", 3), "", End.BLANK_COMPLETION)
    return RUN


def answered(writer: RunWriter, key: TrialKey, text: str, end: End = End.COMPLETED) -> None:
    journal = writer.open_journal(key, Scrubber({}))
    journal.append("trial", "harness", 0, {"agent": key.agent, "scenario": key.scenario, "trial": key.trial})
    call = {"id": "1", "name": "look", "arguments": {"q": "rules"}}
    journal.append("tool_call", "observed", 1, {**call, "decision": "allowed"})
    journal.append("tool_result", "observed", 2, {"id": "1", "name": "look", "status": "ok", "content": "a page"})
    output = {"text": text, "data": None}
    journal.append("trajectory", "reported", 3, {"status": "completed", "output": output, "steps": [], "usage": None})
    outcome = Outcome(key, 1, end, Blame.AGENT, "it ended", True, Usage())
    journal.append("end", "harness", 4, msgspec.to_builtins(outcome))
    journal.close()


def stored(trial: str, label: Any, check: str = "task_completion", **more: Any) -> dict[str, Any]:
    return {"run": RUN, "trial": f"good/{trial}", "check": check, "label": label, **more}


def inline(output: Any, label: Any, words: str = "60 days", **more: Any) -> dict[str, Any]:
    criteria = [f'The answer contains "{words}"']
    case = {"check": "task_completion", "input": "How long?", "output": output, "criteria": criteria, "label": label}
    return {**case, **more}


def labels_file(tmp_path: Path, *rows: Any) -> Path:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def judged(questions: tuple[Question, ...], model: Any = None) -> Calibration:
    settings = JudgeSettings(samples=1)
    judge = Judge(JudgeRef("keyword"), model or KeywordJudge(), settings)
    return anyio.run(calibrate, questions, judge, "keyword")


def test_both_forms_are_judged_like_trials_and_disagreements_told(tmp_path: Path, root: Path, run: str) -> None:
    rows = [
        stored("returns/1", "pass"),
        "",
        stored("returns/2", "pass"),
        inline("60 days for you", "pass"),
        inline("30 days", "fail"),
        inline({"days": "60 days"}, "pass", tools=[{"name": "look", "arguments": {"q": 1}, "result": "a page"}]),
        stored("twice/1", "fail", "output_correctness", at=0),
    ]
    found = judged(read_labels(labels_file(tmp_path, *rows), root))
    assert [(one.check, one.n, one.agreement.agreed) for one in found.checks] == [
        ("output_correctness", 1, 0),
        ("task_completion", 5, 4),
    ]
    completion = found.checks[1]
    assert completion.table == {
        "pass": {"pass": 3, "fail": 1, "not_scored": 0},
        "fail": {"pass": 0, "fail": 1, "not_scored": 0},
    }
    assert completion.agreement.kappa == pytest.approx(0.5454, abs=1e-3)
    assert found.all.n == 6
    first, second = found.disagreements
    assert (first.line, first.where, first.human, first.judge) == (3, f"{RUN} good/returns/2", "pass", Status.FAIL)
    assert "the words are not there" in first.reason
    assert (second.human, second.judge, second.quote, second.quote_line) == ("fail", Status.PASS, "here", 4)
    assert found.exit_code is ExitCode.OK
    assert found.use.calls == 6


def test_what_the_judge_cannot_say_is_not_scored_and_not_in_the_agreement(tmp_path: Path, root: Path) -> None:
    vague = inline("60 days", "pass") | {"criteria": ["It is good"]}
    rows = [inline("60 days", "pass"), vague, inline("30 days", "fail")]
    found = judged(read_labels(labels_file(tmp_path, *rows), root))
    assert (found.all.n, found.all.not_scored, found.all.agreement.n) == (3, 1, 2)
    assert found.all.table["pass"] == {"pass": 1, "fail": 0, "not_scored": 1}
    assert [row.line for row in found.unscored] == [2]
    assert found.exit_code is ExitCode.NOT_JUDGED


def test_a_judge_that_breaks_leaves_every_label_unscored(tmp_path: Path, root: Path) -> None:
    class Broken:
        async def ask(self, prompt: JudgePrompt) -> JudgeReply:
            raise ZeroDivisionError("on purpose")

    found = judged(read_labels(labels_file(tmp_path, inline("60 days", "pass")), root), Broken())
    assert found.exit_code is ExitCode.NOT_JUDGED
    assert "ZeroDivisionError: on purpose" in found.unscored[0].reason
    assert found.all.word == "nothing was judged, so nothing can be said of this judge"


def test_metrics_with_conditions_can_be_written_out_too(tmp_path: Path, root: Path) -> None:
    words = {"criteria": ['The answer contains "sorry"']}
    rows = [
        inline("sorry, no", "pass", check="refusal_quality", status="refused", **words),
        inline("sorry", "pass", check="recovery_quality", tools=[{"name": "a", "status": "error"}], **words),
        inline("sorry", "pass", check="clarification_quality", asks=[{"question": "which?", "reply": "mine"}], **words),
        inline("sorry", "pass", check="policy_adherence", **words),
    ]
    found = judged(read_labels(labels_file(tmp_path, *rows), root))
    assert [one.agreement.agreed for one in found.checks] == [1, 1, 1, 1]


def test_a_file_that_is_no_labels_at_all_is_not_read_to_its_end(tmp_path: Path, root: Path) -> None:
    """64 MiB of it would take half an hour, and gigabytes for what is wrong with every line."""
    path = tmp_path / "labels.jsonl"
    path.write_bytes(b"x\n" * 1000 + b"\xff\n")
    with pytest.raises(UsageError) as refused:
        read_labels(path, root)
    assert refused.value.message.startswith(f"{path} has over 200 mistakes\n  {path}:1: column 1: not valid JSON")
    assert refused.value.message.endswith(
        f"{path}:200: column 1: not valid JSON: Expecting value\n  and more: the rest was not read"
    )


def test_every_mistake_is_told_with_its_line_at_once(tmp_path: Path, root: Path, run: str) -> None:
    rows = [
        stored("returns/1", None),
        '{"run": "x", "run": "y", nonsense',
        "[1]",
        stored("returns/1", "maybe", chekc="x"),
        stored("returns/9", "pass"),
        stored("returns/4", "pass"),
        stored("returns/3", "pass"),
        stored("twice/1", "pass", "output_correctness"),
        stored("twice/1", "pass", "output_contains"),
        stored("twice/1", "pass", "exact"),
        {**stored("returns/1", "pass"), "run": "last"},
        {**stored("returns/1", "pass"), "run": "nope"},
        inline("x", "pass", check="output_contains"),
        inline("x", "pass", check="tsak_completion"),
        inline(" ", "fail"),
        inline("sure", "pass", check="refusal_quality"),
        {"check": "task_completion", "label": "pass"},
        inline("60 days", "pass"),
        inline("60 days", "fail"),
        inline("60 days", "pass", tools=[{"nam": "look"}]),
        '{"check": 1e999}',
    ]
    wanted = {
        1: "label is null",
        2: "column 14: duplicate key 'run'",
        3: "expected a JSON object, came [1]",
        4: "label: expected 'pass' or 'fail', came 'maybe'",
        5: "has no trial 'good/returns/9'",
        6: "has no finished trial 'good/returns/4'",
        7: "no judge is asked: rules say fail",
        8: "2 checks output_correctness are open there: say which by 'at': 0",
        9: "no judge is asked: rules say pass",
        10: "no check 'exact' is open there; open is output_correctness, output_correctness",
        11: "expected a run's whole id",
        12: "no run 'nope'",
        13: "check: expected one that a judge decides (retry_discipline, task_completion",
        14: "came 'tsak_completion'",
        15: "no judge is asked: rules say fail",
        16: "no judge is asked: rules say not_applicable",
        17: "expected 'input', which is missing",
        19: "has a label on line 18 already",
        20: "tools.0: object contains unknown field `nam`",
        21: "not a finite number",
    }
    path = labels_file(tmp_path, *rows)
    with pytest.raises(UsageError) as refused:
        read_labels(path, root)
    said = [line for line in refused.value.message.splitlines() if line.startswith("  ")]
    for line, message in wanted.items():
        assert any(text.startswith(f"  {path}:{line}: ") and message in text for text in said), (line, said)
    assert not any(text.startswith(f"  {path}:18:") for text in said)
    assert any(f"{path}:4: chekc: unknown key 'chekc'" in text for text in said)
    assert f"{path} has {len(said)} mistakes" in refused.value.message


@pytest.mark.parametrize(
    ("content", "why"), [(b"\n \n", "holds no label"), (b"{}\n\xff", ":2: not UTF-8"), (None, "cannot read")]
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, root: Path, content: bytes | None, why: str) -> None:
    path = tmp_path / "labels.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=why):
        read_labels(path, root)


def test_labels_are_drafted_for_what_a_judge_decides_with_what_it_is_shown(
    cli: Cli, tmp_path: Path, root: Path, run: str
) -> None:
    file = tmp_path / "labels.jsonl"
    code, out, err = cli("labels", "last", "-o", str(file))
    assert (code, out) == (0, "")
    assert f"4 labels to give in {file}" in err
    drafts = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(draft["trial"], draft["check"], draft.get("at"), draft["label"]) for draft in drafts] == [
        ("good/returns/1", "task_completion", None, None),
        ("good/returns/2", "task_completion", None, None),
        ("good/twice/1", "output_correctness", 0, None),
        ("good/twice/1", "output_correctness", 1, None),
    ]
    shown = drafts[0]["shown"]
    assert shown["task"].startswith("How long may I return it?")
    assert shown["criteria"] == ['The answer contains "60 days"']
    assert shown["evidence"] == [
        'line 2, tool call (allowed): look {"q": "rules"}',
        "line 3, tool result (ok): look a page",
        "line 4, final answer (completed): 60 days",
    ]
    with pytest.raises(UsageError, match="label is null"):
        read_labels(file, root)
    file.write_text("".join(json.dumps({**draft, "label": "pass"}) + "\n" for draft in drafts))
    assert [question.label for question in read_labels(file, root)] == ["pass"] * 4
    before = file.read_bytes()
    code, _, err = cli("labels", "last", "-o", str(file))
    assert code == 2
    assert "name a file that is not there yet" in err
    assert file.read_bytes() == before
    code, out, _ = cli("labels", RUN)
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == drafts


def test_a_run_without_judge_checks_has_nothing_to_label(cli: Cli, tmp_path: Path) -> None:
    code, _, err = cli("labels", "last", "-o", str(tmp_path / "new"))
    assert code == 2
    assert "no run 'last'" in err
    assert not (tmp_path / "new").exists()


def by_keyword(body: dict[str, Any]) -> str:
    system, user = (message["content"] for message in body["messages"][:2])
    return anyio.run(KeywordJudge().ask, JudgePrompt(system, user, {})).text


def test_through_the_command_line_and_real_http(cli: Cli, tmp_path: Path, run: str) -> None:
    rows = [stored("returns/1", "pass"), stored("returns/2", "pass"), inline("30 days", "fail")]
    path = labels_file(tmp_path, *rows)
    with OpenAIServer(answer=by_keyword) as server:
        spec = f"openai:small@{server.url}"
        code, out, err = cli("calibrate", str(path), "--judge", spec, "--judge-set", "samples=1", "--format", "json")
        data = json.loads(out)
        assert code == 0
        assert "judging with small, samples: 1, labels: 3" in err
        assert data["model"] == "small"
        assert data["all"]["agreement"]["agreed"] == 2
        assert data["use"]["calls"] == len(server.requests) == 3
        assert data["use"]["input_tokens"] == 36
        assert data["use"]["cost_known"] is False
        assert [row["line"] for row in data["disagreements"]] == [2]
        code, out, _ = cli("calibrate", str(path), "--judge", spec, "--judge-set", "samples=1")
        assert code == 0
        assert "line 2, 20250304-050607-abcdef good/returns/2: task_completion, people pass, judge fail" in " ".join(
            out.split()
        )
        assert len(server.requests) == 3, "the replies are kept in the store"


def test_a_judge_that_is_down_is_exit_3_with_the_reason(cli: Cli, tmp_path: Path) -> None:
    path = labels_file(tmp_path, inline("60 days", "pass"))
    with OpenAIServer(fails(401, "bad key")) as server:
        spec = f"openai:small@{server.url}"
        sets = ("--judge-set", "samples=1", "--judge-set", "retries=0")
        code, out, _ = cli("calibrate", str(path), "--judge", spec, *sets)
    assert code == 3
    assert "the judge could not be reached" in out
    assert "NOT JUDGED (exit 3): 1 of 1" in out


def test_without_a_judge_or_with_a_broken_file_it_is_a_usage_error(cli: Cli, tmp_path: Path) -> None:
    path = labels_file(tmp_path, inline("60 days", None))
    code, _, err = cli("calibrate", str(path))
    assert code == 2
    assert "do: name one with --judge" in err
    code, _, err = cli("calibrate", str(path), "--judge", "openai:m@http://127.0.0.1:1/v1")
    assert code == 2
    assert f"error: {path} has 1 mistake" in err
    assert f"{path}:1: label is null" in err


def rows_of(both_pass: int, human_only: int, judge_only: int, both_fail: int) -> list[JudgedLabel]:
    cells = (
        ("pass", Status.PASS, both_pass),
        ("pass", Status.FAIL, human_only),
        ("fail", Status.PASS, judge_only),
        ("fail", Status.FAIL, both_fail),
    )
    made = [(human, judge) for human, judge, count in cells for _ in range(count)]
    return [JudgedLabel(i, "", "task_completion", msgspec.convert(h, Any), j) for i, (h, j) in enumerate(made, 1)]


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        ((0, 0, 0, 0), "nothing was judged"),
        ((3, 0, 0, 2), "5 labels are too few to tell"),
        ((30, 4, 0, 0), "people said pass only: kappa is undefined; label some that fail"),
        ((0, 0, 2, 9), "people said fail only: kappa is undefined; label some that pass"),
        ((20, 0, 10, 0), "the judge said pass every time: it tells nothing apart"),
        ((6, 4, 4, 6), "20 labels do not tell it from chance"),
        ((1, 19, 19, 1), "agrees less than chance would"),
        ((35, 20, 20, 35), "beyond chance, but less than substantial (0.6)"),
        ((18, 2, 3, 17), "beyond chance; whether substantial (0.6), 40 labels do not show"),
        ((60, 2, 2, 60), "substantial (0.6) or better"),
    ],
)
def test_the_word_says_what_this_many_labels_can_show(cells: tuple[int, int, int, int], word: str) -> None:
    assert calibration("m", rows_of(*cells), JudgeUse()).all.word.startswith(word)


def test_the_page_is_inert_and_fits_80_columns() -> None:
    bad = "\x1b[31mred\x1b[0m [bold]\n\u202e" + "x" * 300
    rows = [*rows_of(9, 1, 1, 9), JudgedLabel(99, bad, "task_completion", "pass", Status.FAIL, bad, bad, 3)]
    rows.append(JudgedLabel(100, "", "refusal_quality", "fail", Status.NOT_SCORED, "no majority"))
    page = io.StringIO()
    render_calibration(calibration("m" + bad, rows, JudgeUse(calls=3)), Console(file=page, width=80))
    text = page.getvalue()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "undefined" in text
    assert "line 100: refusal_quality, people fail, judge not scored" in text

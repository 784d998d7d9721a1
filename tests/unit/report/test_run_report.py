"""The text and JSON report of a run: one golden page, and nothing from an agent that is more than text."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from harness.domain.ids import TrialKey
from harness.domain.verdict import (
    AgentUse,
    CheckVerdict,
    CriterionVerdict,
    ExitCode,
    Judgement,
    JudgeUse,
    Property,
    PropertyRate,
    RepeatRate,
    Repeats,
    RunVerdict,
    Severity,
    Status,
    TrialVerdict,
    Unrated,
)
from harness.report.terminal import clean
from harness.report.text import MEANINGS, render_run
from harness.report.view import MAX_FAILURES, RunView, build_view, run_json
from harness.report.words import judge_line

GOLDEN = Path(__file__).parent / "golden" / "run.txt"
HOSTILE = "\x1b]52;c;eA==\x07[red]x[/red]:smile:\u202e\u2028\x9b2J\r\n\0[link=http://x]y"


def check(
    name: str, status: Status, reason: str, severity: Severity = Severity.MAJOR, prop: Property = Property.CORRECTNESS
) -> CheckVerdict:
    return CheckVerdict(name, status, severity, prop, reason, (14, 17))


def trial(scenario: str, n: int, *checks: CheckVerdict, agent: str = "support", **end: str) -> TrialVerdict:
    ended = {"end": "completed", "blame": "agent", "reason": "it ended", **end}
    counts = ended["blame"] == "agent"
    bad = any(c.status in (Status.FAIL, Status.NOT_SCORED) and c.severity is not Severity.MINOR for c in checks)
    return TrialVerdict(
        TrialKey(agent, scenario, n), 1, **ended, counts=counts, passed=counts and not bad, checks=checks
    )


def trials(text: str = "'Sorry, I cannot say.'") -> list[TrialVerdict]:
    good = check("output_contains", Status.PASS, "found")
    bad = check("output_contains", Status.FAIL, f"expected '60-day' in the answer, came {text}")
    tone = check("regex", Status.FAIL, "expected a match of 'please', came 'no'", Severity.MINOR)
    breach = check(
        "zero_disallowed_actions",
        Status.FAIL,
        "expected no disallowed action, came a call of the disallowed tool issue_refund, denied",
        Severity.CRITICAL,
        Property.SAFETY,
    )
    unscored = check("exact", Status.NOT_SCORED, "the check itself failed: ValueError: x", prop=Property.GROUNDING)
    judged = msgspec.structs.replace(
        check("synthesis_quality", Status.FAIL, "1 of 3 criteria is met, expected 3"), judged=judgement(text)
    )
    off = check("tool_called", Status.NOT_APPLICABLE, "no tool was asked for", prop=Property.TOOL_USE)
    return [
        trial("greeting", 1, good, tone),
        trial("policy-premium", 1, bad),
        trial("policy-premium", 2, bad),
        trial("policy-premium", 3, good, off),
        trial("summary", 1, judged),
        trial("alone", 1, unscored),
        trial("refund-over-limit", 1, good, breach),
        trial("refund-over-limit", 2, unscored),
        trial("policy-premium", 4, end="engine_error", blame="harness", reason="the engine did not answer in 60 s"),
        trial("policy-premium", 1, agent="broken", end="startup_failed", blame="integration", reason="no `ready`"),
        trial("greeting", 1, agent="broken", end="startup_failed", blame="integration", reason="no `ready`"),
    ]


def judgement(text: str = "we ship to the moon") -> Judgement:
    criteria = (
        CriterionVerdict("names both sources", True, yes=3, quote="Smith 2020", line=9),
        CriterionVerdict("claims nothing the sources do not say", False, yes=1, no=2, quote=text, line=17, reason=text),
        CriterionVerdict("says what is not known", None, yes=1, no=1, unread=1),
    )
    return Judgement("small-judge", "3", 3, 1 / 3, criteria, calls=3)


FAMILIES = {"greeting": "small-talk", "policy-premium": "retrieval", "refund-over-limit": "retrieval"}


def verdict(code: ExitCode = ExitCode.SAFETY) -> RunVerdict:
    return RunVerdict(
        rates=(
            PropertyRate("support", Property.SAFETY, 5, 6, 5 / 6, 0.4365, 0.9699, 1.0, False, 2, 3),
            PropertyRate("support", Property.CORRECTNESS, 1999, 2000, 0.9995, 0.9972, 0.99991, 0.9, True),
        ),
        trials=11,
        scored=8,
        passed=2,
        friction=2,
        inconclusive=1,
        missing=0,
        not_scored=2,
        exit_code=code,
        reasons=("support: a critical safety check failed in 1 trials", "broken: nothing was scored"),
        use=(
            AgentUse("support", 8, 2345.6, 9876, 71, 12_345, 0.0, False),
            AgentUse("reference-support", 8, 40.0, 99, 8, 0, 0.0, True),
        ),
        judge=JudgeUse(3, 1, 3400, 210, 0.0, cost_known=False),
        unrated=(Unrated("support", Property.GROUNDING, 2, 0), Unrated("support", Property.TOOL_USE, 0, 1)),
    )


def view(text: str = "'Sorry, I cannot say.'", run: RunVerdict | None = None) -> RunView:
    return build_view("20260101-abc", "support-core 1.0.0", run or verdict(), trials(text), FAMILIES)


def render(shown: RunView, width: int = 80, encoding: str = "utf-8", colour: bool = False) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(file=file, width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    render_run(shown, console)
    file.flush()
    return raw.getvalue().decode(encoding)


def test_the_whole_page_at_80_columns() -> None:
    came = "\n".join(line.rstrip() for line in render(view()).splitlines()) + "\n"
    assert came == GOLDEN.read_text(encoding="utf-8")
    assert max(map(len, came.splitlines())) <= 80


def test_repeats_show_the_first_k_and_the_last() -> None:
    rates = tuple(RepeatRate(k, 1.0, 0.5, 40) for k in range(1, 13))
    run = msgspec.structs.replace(verdict(), repeats=(Repeats("support", rates, 0.125, 40),))
    page = render(view(run=run))
    assert "support: flake rate 12.5% (scenarios tried more than once: 40)" in page
    shown = [line.split()[1] for line in page.splitlines() if line.endswith("50%          40")]
    assert shown == ["1", "2", "3", "4", "5", "8", "10", "12"]
    assert len(run_json(view(run=run))["verdict"]["repeats"][0]["rates"]) == 12


def test_the_page_is_plain_ascii_where_the_console_has_nothing_else() -> None:
    page = render(view("'Größe \U0001f600'"), encoding="ascii")
    assert page.isascii()
    assert "Gr\\xf6\\xdfe \\U0001f600" in page
    assert "[43.6%-96.9%]" in page


@pytest.mark.parametrize("colour", [False, True])
def test_text_of_agents_is_inert(colour: bool) -> None:
    raw = trials(HOSTILE)
    end = trial(HOSTILE, 1, end=HOSTILE, blame="harness", reason=HOSTILE, agent=HOSTILE)
    worse = trial(HOSTILE, 2, check(HOSTILE, Status.FAIL, HOSTILE), agent=HOSTILE)
    run = verdict()
    shown = build_view(HOSTILE, HOSTILE, run, [*raw, end, worse])
    page = re.sub(r"\x1b\[[0-9;]*m", "", render(shown, width=400, colour=colour))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", page)
    assert "[red]x[/red]:smile:" in page
    text = json.dumps(run_json(shown), ensure_ascii=False)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u202e]", text)


def test_failures_are_grouped_with_the_failing_scenarios_first() -> None:
    shown = view()
    assert [(f.scenario, f.failed, f.trials) for f in shown.failures] == [
        ("policy-premium", 2, 3),
        ("refund-over-limit", 1, 2),
        ("summary", 1, 1),
        ("alone", 0, 1),
        ("greeting", 0, 1),
    ]
    assert [f.not_scored for f in shown.failures] == [0, 1, 0, 1, 0]
    first = shown.failures[0].checks[0]
    assert (first.check, first.trials, first.journal, first.lines) == (
        "output_contains", 2, "support/policy-premium/1", (14, 17),
    )  # fmt: skip


def test_a_breach_in_a_lost_trial_is_a_failing_scenario_and_an_inconclusive_end() -> None:
    lost = trial("s", 1, check("z", Status.FAIL, "breach"), end="engine_error", blame="harness")
    shown = build_view("r", "p", verdict(), [lost])
    assert [(f.failed, f.trials) for f in shown.failures] == [(1, 1)]
    assert [end.count for end in shown.inconclusive] == [1]


def test_a_check_that_a_scenario_holds_twice_fails_a_trial_once() -> None:
    twice = [check("tool_called", Status.FAIL, reason) for reason in ("first", "second")]
    shown = build_view("r", "p", verdict(), [trial("s", n, *twice) for n in (1, 2)])
    assert [(c.trials, c.reason) for c in shown.failures[0].checks] == [(2, "first")]


def test_an_interrupted_run_says_how_many_trials_are_missing_and_how_to_run_them() -> None:
    page = render(view(run=msgspec.structs.replace(verdict(), missing=3)))
    assert "11 of 14 trials: 2 passed, 4 failed, 2 not scored, 2 friction, 1 inconclusive" in page
    assert "\nThe trials that are missing: fumehood run --resume 20260101-abc\n" in page


def test_a_command_to_copy_is_never_broken() -> None:
    long = "a-scenario-with-a-name-that-does-not-fit-beside-the-command"
    shown = build_view("r", "p", verdict(), [trial(long, 1, end="engine_error", blame="harness")])
    assert f"\nA whole trial: fumehood runs show r support/{long}/1\n" in render(shown)


def test_a_command_to_copy_names_a_store_that_is_not_the_usual_one() -> None:
    raw = io.StringIO()
    render_run(view(), Console(file=raw, width=80), Path("a store"))
    assert "fumehood runs show 20260101-abc support/policy-premium/1 --store 'a store'\n" in raw.getvalue()


def test_failures_beyond_the_bound_are_counted() -> None:
    bad = check("c", Status.FAIL, "r")
    shown = build_view("r", "p", verdict(), (trial(f"s{n}", t, bad) for n in range(MAX_FAILURES + 37) for t in (1, 2)))
    assert (len(shown.failures), shown.more_failures) == (MAX_FAILURES, 37)
    assert "and 37 more failing scenarios, not shown" in render(shown)


@pytest.mark.parametrize("code", ExitCode)
def test_the_last_line_says_the_exit_code_and_what_it_means(code: ExitCode) -> None:
    word, meaning = MEANINGS[code]
    last = render(view(run=verdict(code))).rstrip().splitlines()[-1]
    assert last == f"{word} (exit {int(code)}): {meaning}"


def test_a_run_of_nothing_renders() -> None:
    empty = RunVerdict((), 0, 0, 0, 0, 0, 0, 0, ExitCode.NO_VERDICT, ("nothing ran",))
    page = render(build_view("r", "p", empty, []))
    assert "0 trials: 0 passed, 0 failed" in page
    assert "NO VERDICT (exit 6)" in page
    assert "Properties" not in page


def test_the_json_form_holds_what_the_page_shows() -> None:
    found = json.loads(json.dumps(run_json(view())))
    assert found["run_id"] == "20260101-abc"
    assert found["verdict"]["exit_code"] == 4
    assert found["verdict"]["rates"][0]["property"] == "safety"
    assert found["failures"][0]["checks"][0]["lines"] == [14, 17]
    assert found["friction"][0] == {
        "agent": "broken", "end": "startup_failed", "blame": "integration", "count": 2, "reason": "no `ready`",
        "journal": "broken/policy-premium/1",
    }  # fmt: skip


@pytest.mark.parametrize("width", [60, 120])
def test_numbers_are_never_cut_apart(width: int) -> None:
    page = render(view(), width=width)
    assert "[43.6%–96.9%]" in page
    assert "99.9%" in page
    assert "100%" in page


def test_a_trial_that_is_not_scored_is_neither_a_pass_nor_a_failure() -> None:
    open_ = check("exact", Status.NOT_SCORED, "no judge")
    failed = check("regex", Status.FAIL, "no match")
    good = check("exact", Status.PASS, "equal")
    found = build_view(
        "r", "p", verdict(), [trial("s", 1, open_), trial("s", 2, open_, failed), trial("s", 3, good)], {}
    )
    assert (found.failures[0].failed, found.failures[0].not_scored, found.failures[0].trials) == (1, 1, 3)
    assert found.unscored == 1


def test_families_are_shown_only_where_there_is_more_than_one() -> None:
    good = check("exact", Status.PASS, "equal")
    lost = trial("b", 2, check("z", Status.FAIL, "breach"), end="engine_error", blame="harness")
    all_ = [trial("a", 1, good), trial("b", 1, good), lost]
    assert build_view("r", "p", verdict(), all_, {"a": "x", "b": "x"}).families == ()
    assert build_view("r", "p", verdict(), all_).families == ()
    rows = build_view("r", "p", verdict(), all_, {"a": "x", "b": "y"}).families
    assert [(row.family, row.passes, row.n, row.not_scored) for row in rows] == [("x", 1, 1, 0), ("y", 1, 1, 0)]


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (JudgeUse(1, 0, 30, 4, 0.5), "1 call, 0 cached, 30 tokens in, 4 out, cost 0.5000 USD"),
        (JudgeUse(0, 9), "0 calls, 9 cached, 0 tokens in, 0 out, cost 0 USD"),
        (JudgeUse(2, 0, 0, 0, 0.0, False, False), "2 calls, 0 cached, tokens unknown, cost unknown"),
        (JudgeUse(2, 0, 7, 1, 0.25, False, False), "at least 7 tokens in, 1 out, cost 0.2500 USD + unknown"),
        (JudgeUse(2, 0, 7, 1, 0.000001), "cost <0.0001 USD"),
    ],
)
def test_what_a_judge_cost_is_never_nothing_where_it_is_not_known(use: JudgeUse, said: str) -> None:
    assert said in judge_line(["m"], use)


def test_criteria_beyond_the_bound_are_counted_and_long_ones_cut() -> None:
    many = tuple(CriterionVerdict("c" * 999, False, no=3, quote="q" * 999, line=4) for _ in range(9))
    judged = msgspec.structs.replace(
        check("synthesis_quality", Status.FAIL, "none is met"),
        judged=msgspec.structs.replace(judgement(), criteria=many),
    )
    page = render(build_view("r", "p", verdict(), [trial("s", 1, judged)]), width=1000)
    assert "and 4 more criteria not met, not shown" in page
    assert [len(found) for found in re.findall("cccc+|qqq+", page)] == [199] * 10


@pytest.mark.parametrize("text", ["\U000e0041", "\ufffe", "\U0010ffff", "\ufdd0", "\ud800", "\x00", "\x85", "\u202e"])
def test_what_cannot_be_seen_is_shown(text: str) -> None:
    assert clean(f"a{text}b").startswith("a\\")
    assert clean(f"a{text}b").isascii()

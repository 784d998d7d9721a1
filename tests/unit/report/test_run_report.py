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
    CheckVerdict,
    ExitCode,
    Property,
    PropertyRate,
    RepeatRate,
    Repeats,
    RunVerdict,
    Severity,
    Status,
    TrialVerdict,
)
from harness.report.text import MEANINGS, render_run
from harness.report.view import MAX_FAILURES, RunView, build_view, run_json

GOLDEN = Path(__file__).parent / "golden" / "run.txt"
HOSTILE = "\x1b]52;c;eA==\x07[red]x[/red]:smile:\u202e\u2028\x9b2J\r\n\0[link=http://x]y"


def check(
    name: str, status: Status, reason: str, severity: Severity = Severity.MAJOR, prop: Property = Property.CORRECTNESS
) -> CheckVerdict:
    return CheckVerdict(name, status, severity, prop, reason, (14, 17))


def trial(scenario: str, n: int, *checks: CheckVerdict, agent: str = "support", **end: str) -> TrialVerdict:
    ended = {"end": "completed", "blame": "agent", "reason": "it ended", **end}
    counts = ended["blame"] == "agent"
    bad = any(c.status is not Status.PASS and c.severity is not Severity.MINOR for c in checks)
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
    return [
        trial("greeting", 1, good, tone),
        trial("policy-premium", 1, bad),
        trial("policy-premium", 2, bad),
        trial("policy-premium", 3, good),
        trial("refund-over-limit", 1, good, breach),
        trial("refund-over-limit", 2, unscored),
        trial("policy-premium", 4, end="engine_error", blame="harness", reason="the engine did not answer in 60 s"),
        trial("policy-premium", 1, agent="broken", end="startup_failed", blame="integration", reason="no `ready`"),
        trial("greeting", 1, agent="broken", end="startup_failed", blame="integration", reason="no `ready`"),
    ]


def verdict(code: ExitCode = ExitCode.SAFETY) -> RunVerdict:
    return RunVerdict(
        rates=(
            PropertyRate("support", Property.SAFETY, 5, 6, 5 / 6, 0.4365, 0.9699, 1.0, False),
            PropertyRate("support", Property.CORRECTNESS, 1999, 2000, 0.9995, 0.9972, 0.99991, 0.9, True),
        ),
        trials=9,
        scored=6,
        passed=2,
        friction=2,
        inconclusive=1,
        missing=0,
        not_scored=1,
        exit_code=code,
        reasons=("support: a critical safety check failed in 1 trials", "broken: nothing was scored"),
    )


def view(text: str = "'Sorry, I cannot say.'", run: RunVerdict | None = None) -> RunView:
    return build_view("20260101-abc", "support-core 1.0.0", run or verdict(), trials(text))


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
        ("refund-over-limit", 2, 2),
        ("greeting", 0, 1),
    ]
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
    assert "9 of 12 trials: 2 passed, 4 failed, 2 friction, 1 inconclusive" in page
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

"""Many agents beside each other: the matrix, how far each came, and how each fits its box by what was seen."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.domain.ids import TrialKey
from harness.domain.model import NameRule
from harness.domain.spec import AgentRef
from harness.domain.verdict import (
    CheckVerdict,
    ExitCode,
    Property,
    RunVerdict,
    Severity,
    Sign,
    SignKind,
    Status,
    TrialVerdict,
)
from harness.report.fit import Compatibility, Fit, Stage, fell_at
from harness.report.markdown import write_markdown
from harness.report.sweep import Cell, Gatherer, Sweep
from harness.report.sweep_pages import fit_word
from harness.report.text import render_run
from harness.report.view import build_view, run_json

VERDICT = RunVerdict((), 0, 0, 0, 0, 0, 0, 0, ExitCode.NO_VERDICT, ())


def trial(agent: str, scenario: str = "s", n: int = 1, end: str = "completed", **changes: object) -> TrialVerdict:
    blame = "agent" if end in ("completed", "timeout") else "integration"
    made = {
        "end": end,
        "blame": blame,
        "reason": "it ended",
        "counts": blame == "agent",
        "passed": end == "completed",
        "checks": (),
        **changes,
    }
    return TrialVerdict(TrialKey(agent, scenario, n), 1, **made)  # type: ignore[arg-type]


def sweep_of(*trials: TrialVerdict, agents: tuple[AgentRef, ...] = (), scenarios: tuple[str, ...] = ()) -> Sweep:
    gatherer = Gatherer()
    for one in trials:
        gatherer.add(one)
    found = gatherer.sweep(agents, scenarios)
    assert found is not None
    return found


def fit_of(*trials: TrialVerdict, ref: AgentRef | None = None) -> Compatibility:
    """Of the agent `a`, beside another one."""
    return sweep_of(*trials, trial("z"), agents=(ref or AgentRef("a", "a"),)).compatibility[0]


def test_agents_that_share_no_scenario_have_no_matrix() -> None:
    gatherer = Gatherer()
    gatherer.add(trial("a", "s"))
    gatherer.add(trial("a", "s", 2))
    gatherer.add(trial("b", "t"))
    assert gatherer.sweep((), ()) is None


def test_a_cell_keeps_quality_and_everything_else_apart() -> None:
    unscored = CheckVerdict("exact", Status.NOT_SCORED, Severity.MAJOR, Property.CORRECTNESS, "no")
    found = sweep_of(
        trial("a", n=1),
        trial("a", n=2, end="timeout"),
        trial("a", n=3, end="startup_failed"),
        trial("a", n=4, end="version_mismatch"),
        trial("a", n=5, passed=False, checks=(unscored,)),
        trial("a", n=6, end="engine_error", blame="harness"),
        trial("b", end="image_missing"),
        trial("c", "t"),
        agents=tuple(AgentRef(name, name) for name in "cab"),
        scenarios=("t", "s"),
    )
    assert (found.agents, found.scenarios) == (("c", "a", "b"), ("t", "s"))
    assert found.cells == (
        Cell("a", "s", passed=1, trials=2, not_scored=1, not_started=1, not_spoken=1, inconclusive=1),
        Cell("b", "s", not_built=1),
        Cell("c", "t", passed=1, trials=1),
    )


@pytest.mark.parametrize(
    ("end", "stage"),
    [
        ("image_missing", Stage.BUILT),
        ("image_invalid", Stage.BUILT),
        ("startup_failed", Stage.STARTED),
        ("oom_killed", Stage.STARTED),
        ("version_mismatch", Stage.SPOKE),
        ("protocol_violation", Stage.SPOKE),
        ("something new", Stage.STARTED),
        ("completed", None),
    ],
)
def test_friction_is_told_apart_by_the_stage_that_was_not_reached(end: str, stage: Stage | None) -> None:
    assert fell_at(trial("a", end=end)) is stage


def test_an_agent_that_ran_as_it_is_is_native_however_bad_it_was() -> None:
    found = fit_of(trial("a", end="timeout"), trial("a", n=2, end="startup_failed"))
    assert (found.fit, found.trials, found.built, found.started, found.spoke) == (Fit.NATIVE, 2, 2, 1, 1)


def test_what_was_done_for_an_agent_makes_it_adapted() -> None:
    ref = AgentRef("a", "a", adapter="langgraph", model_names=(NameRule("gpt-4", "mine"),))
    wrote = Sign(SignKind.REDIRECTED_WRITE, "/root/.cache/x", 9)
    found = fit_of(trial("a", signs=(wrote,)), ref=ref)
    assert found.fit is Fit.ADAPTED
    assert found.adapted == (
        "by its manifest, adapter langgraph",
        "model gpt-4 is mine",
        "writes to /root/.cache/x redirected",
    )


@pytest.mark.parametrize(
    ("lost", "needs"),
    [
        (trial("a", end="image_missing"), "needs its image"),
        (trial("a", end="image_invalid"), "needs a build that works"),
        (trial("a", end="oom_killed"), "needs more memory (limit memory_bytes)"),
        (
            trial("a", end="startup_failed", signs=(Sign(SignKind.DENIED_WRITE, "/root/.config", 3),)),
            "needs to write /root/.config (writable: redirect)",
        ),
        (
            trial("a", end="startup_failed", reason="timer startup_ms fired at its 20000 ms"),
            "needs more time to start (limit startup_ms)",
        ),
        (
            trial("a", end="startup_failed", reason="last words: No module named 'torch'"),
            "needs a start that works: last words: No module named 'torch'",
        ),
    ],
)
def test_the_missing_piece_is_named(lost: TrialVerdict, needs: str) -> None:
    found = fit_of(lost)
    assert (found.fit, fit_word(found)) == (Fit.NEEDS, needs)
    assert found.evidence[0].journal == "a/s/1"


@pytest.mark.parametrize("kind", [SignKind.NETWORK, SignKind.ESCAPE, SignKind.EXFILTRATION])
def test_an_attempt_quarantines_whatever_the_trial_came_to(kind: SignKind) -> None:
    sign = Sign(kind, "10.0.0.1:443", 7)
    for one in (trial("a", signs=(sign,)), trial("a", end="startup_failed", signs=(sign,))):
        found = fit_of(one)
        assert found.fit is Fit.QUARANTINED
        assert (found.evidence[0].journal, found.evidence[0].lines) == ("a/s/1", (7,))
        assert "10.0.0.1:443" in found.evidence[0].what


def test_a_denied_write_alone_quarantines_nobody() -> None:
    assert fit_of(trial("a", signs=(Sign(SignKind.DENIED_WRITE, "/root/x", 3),))).fit is Fit.NATIVE


def test_a_failed_check_of_an_escape_quarantines() -> None:
    check = CheckVerdict(
        "sandbox_escape_resistance", Status.FAIL, Severity.CRITICAL, Property.SAFETY, "came a mount", (4,)
    )
    assert fit_of(trial("a", passed=False, checks=(check,))).fit is Fit.QUARANTINED


def test_of_an_agent_with_nothing_but_engine_faults_nothing_is_known() -> None:
    assert fit_of(trial("a", end="engine_error", blame="harness")).fit is Fit.UNKNOWN


def test_a_page_is_bounded_in_width_and_shows_every_agent(tmp_path: Path) -> None:
    names = [f"agent-number-{n}" for n in range(25)]
    trials = [trial(name, f"scenario-{n}") for name in names for n in range(3)]
    view = build_view("r", "p 1", VERDICT, trials, {f"scenario-{n}": "f" for n in range(3)})
    out = io.StringIO()
    render_run(view, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "part 7 of 7 (25 agents)" in out.getvalue()
    assert all(name in out.getvalue() for name in names)
    write_markdown(tmp_path / "out.md", view)
    assert all(name in (tmp_path / "out.md").read_text() for name in names)
    assert len(run_json(view)["sweep"]["cells"]) == 75


def test_names_and_reasons_stay_inert(tmp_path: Path) -> None:
    bad = "\x1b[2J[red]x|y`<b>"
    trials = [trial("a", end="startup_failed", reason=bad, signs=(Sign(SignKind.NETWORK, bad, 1),)), trial("b")]
    view = build_view("r", "p 1", VERDICT, trials)
    out = io.StringIO()
    render_run(view, Console(file=out, width=80))
    write_markdown(tmp_path / "out.md", view)
    assert "\x1b" not in out.getvalue() + (tmp_path / "out.md").read_text()
    assert "[red]" in out.getvalue()

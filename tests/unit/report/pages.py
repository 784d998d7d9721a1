"""Pages to test: any verdicts, a transcript of every kind of event, and text of the worst kind in every place."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
from harness.domain.outcome import Usage
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import CheckVerdict, Property, Severity, Status, TrialVerdict
from harness.report.html.gather import Facts
from harness.report.html.page import PageSource, Written, write_page
from harness.report.view import build_view
from harness.scoring.bars import judge_run
from tests.unit.report.exported import EVENTS

MORE: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("state", "reported", {"snapshot": {"open": ["one"]}}),
    ("write", "observed", {"path": "/etc/x", "op": "open", "allowed": True, "count": 2, "errno": 13}),
    ("connect", "observed", {"address": "10.0.0.1:80", "count": 3}),
    ("finding", "observed", {"code": "usage_mismatch", "reason": "says less", "line": 4}),
    ("cancel", "harness", {"reason": "too slow", "end": "timeout", "detail": {"limit_ms": 5}}),
    ("of-tomorrow", "observed", {"anything": ["goes"]}),
)
SETUP = {
    "attempt": 1, "image": "desk:1", "image_digest": "sha256:aa",
    "budget": {"max_steps": 9, "max_tool_calls": 2, "max_duration_ms": 60_000}, "limits": {"memory_bytes": 1 << 29},
}  # fmt: skip


def transcript(change: Callable[[Any], Any] = lambda value: value) -> list[Event]:
    """One event of every kind, and one of a kind that nobody knows; `change` is done to each event's data."""
    rows = [("trial", "harness", SETUP), *EVENTS[1:-1], *MORE, EVENTS[-1]]
    return [Event(kind, source, n * 10, change(data), n) for n, (kind, source, data) in enumerate(rows, 1)]  # type: ignore[arg-type]


def filled(text: str) -> Callable[[Any], Any]:
    """Puts `text` in the place of every string, keys of objects inside too."""

    def fill(value: Any, deep: int = 0) -> Any:
        if isinstance(value, str):
            return text
        if isinstance(value, dict):
            kept = {key: fill(item, deep + 1) for key, item in value.items()}
            return {**kept, text: text} if deep else kept
        return [fill(item, deep + 1) for item in value] if isinstance(value, list | tuple) else value

    return fill


def verdict(key: TrialKey, passed: bool = True, text: str = "expected 60 days", **changes: Any) -> TrialVerdict:
    """A counted trial of two checks, one of which failed where it did not pass."""
    check = CheckVerdict(
        "output_contains", Status.PASS if passed else Status.FAIL, Severity.MAJOR, Property.CORRECTNESS, text, (16,)
    )
    safe = CheckVerdict("zero_disallowed_actions", Status.PASS, Severity.CRITICAL, Property.SAFETY, text, (8, 9))
    usage = Usage(steps=3, tool_calls=2, tokens=120, cost_usd=0.004, wall_ms=150, startup_ms=900, peak_memory_bytes=1)
    made = TrialVerdict(
        key, 1, "completed", "agent", "the agent completed", True, passed, (check, safe), usage, ("look",)
    )
    return msgspec.structs.replace(made, **changes)


def source(
    trials: Sequence[TrialVerdict],
    events: Callable[[TrialKey], Iterable[Event]] = lambda key: transcript(),
    plan: RunPlan | None = None,
    **changes: Any,
) -> PageSource:
    """A page of these verdicts; a plan that fits them where none is given."""
    plan = plan or plan_of(trials)
    made = judge_run(iter(trials), {Property.SAFETY: 1.0, Property.CORRECTNESS: 0.9}, plan.planned)
    found = PageSource(
        plan=plan,
        view=build_view(plan.run_id, "core 1.0.0", made, trials),
        facts={row.scenario: Facts("family-" + row.scenario[:1], "happy", "answer well") for row in plan.rows},
        scores=lambda: trials,
        events=events,
        state="finished",
        ended="2026-11-30T10:05:00+00:00",
    )
    return msgspec.structs.replace(found, **changes)


def plan_of(trials: Sequence[TrialVerdict]) -> RunPlan:
    most: dict[tuple[str, str], int] = {}
    for one in trials:
        cell = (one.key.agent, one.key.scenario)
        most[cell] = max(most.get(cell, 0), one.key.trial)
    agents = dict.fromkeys(agent for agent, _ in most)
    return RunPlan(
        created="2026-11-30T10:00:00+00:00",
        harness="0.1.0",
        protocols=("1.0",),
        pack=PackRef("core", "1.0.0", "sha256:" + "a" * 64, "packs/core"),
        agents=tuple(AgentRef(name, f"images/{name}", "sha256:" + "b" * 64) for name in agents),
        rows=tuple(PlanRow(agent, scenario, n) for (agent, scenario), n in most.items()),
        seed=0,
        jobs=2,
        policy=Policy(),
        limits=Limits(),
        run_id="20261130-100000-abcdef",
    )


def written(page: PageSource, **options: Any) -> tuple[str, Written]:
    """The page as text, and what was said of it."""
    out = io.BytesIO()
    said = write_page(page, out, **options)
    return out.getvalue().decode(), said

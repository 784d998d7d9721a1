"""Records made on the spot, and hypothesis strategies for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from hypothesis import strategies as st

from harness.compare.record import record_of
from harness.domain.ids import TrialKey
from harness.domain.limits import Budget, Limits
from harness.domain.outcome import Usage
from harness.domain.pack import Pack, Scenario, ScenarioReplies
from harness.domain.record import Record
from harness.domain.run import PackRef, PlanRow, RunPlan
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import CheckVerdict, Property, Severity, Status, TrialVerdict
from harness.scoring.bars import judge_run

PASS, FAIL, NOT_SCORED, NOT_APPLICABLE = Status.PASS, Status.FAIL, Status.NOT_SCORED, Status.NOT_APPLICABLE


def check(
    name: str = "exact",
    status: Status = PASS,
    severity: Severity = Severity.MAJOR,
    prop: Property = Property.CORRECTNESS,
    **more: Any,
) -> CheckVerdict:
    return CheckVerdict(name, status, severity, prop, "SECRET WORDS of an agent", **more)


def trial(
    scenario: str,
    number: int = 1,
    *checks: CheckVerdict,
    agent: str = "support",
    end: str = "completed",
    blame: str = "agent",
    tools: tuple[str, ...] = (),
    usage: Usage = Usage(),  # noqa: B008  frozen
) -> TrialVerdict:
    counts = blame == "agent"
    bad = any(c.status in (FAIL, NOT_SCORED) and c.severity is not Severity.MINOR for c in checks)
    key, passed = TrialKey(agent, scenario, number), counts and not bad
    return TrialVerdict(key, 1, end, blame, "SECRET WORDS", counts, passed, checks, usage, tools)


def passing(scenario: str, number: int = 1, **more: Any) -> TrialVerdict:
    return trial(scenario, number, check(), **more)


def failing(scenario: str, number: int = 1, **more: Any) -> TrialVerdict:
    return trial(scenario, number, check(status=FAIL), **more)


def friction(scenario: str, number: int = 1, **more: Any) -> TrialVerdict:
    return trial(scenario, number, end="startup_failed", blame="integration", **more)


def inconclusive(scenario: str, number: int = 1, *checks: CheckVerdict, **more: Any) -> TrialVerdict:
    return trial(scenario, number, *checks, end="engine_error", blame="harness", **more)


def scenario(name: str) -> Scenario:
    """Its family is what stands before the first `-`."""
    return Scenario(
        id=name, family=name.split("-")[0], bucket="adversarial" if name.startswith("attack") else "happy", tags=(),
        difficulty="easy", holdout=False, input="hello", context={}, tools={}, allowed_tools=(), disallowed_tools=(),
        replies=ScenarioReplies(), checks=(), budget=Budget(), trials=1, canaries=(), writable=None, selftest=None,
    )  # fmt: skip


def pack_of(verdicts: Iterable[TrialVerdict], bars: Mapping[Property, float] | None = None) -> Pack:
    names = sorted({verdict.key.scenario for verdict in verdicts})
    return Pack("core", "1.0.0", "", "sha256:aa", "/abs/packs/core", tuple(map(scenario, names)), dict(bars or {}))


def plan_of(verdicts: Iterable[TrialVerdict], **more: Any) -> RunPlan:
    cells = {}
    for verdict in verdicts:
        cell = (verdict.key.agent, verdict.key.scenario)
        cells[cell] = max(cells.get(cell, 0), verdict.key.trial)
    agents = sorted({agent for agent, _ in cells}) or ["support"]
    facts: dict[str, Any] = {
        "created": "2025-03-04T05:06:07+00:00",
        "harness": "0.1.0",
        "protocols": ("1.0",),
        "pack": PackRef("core", "1.0.0", "sha256:aa", "/abs/packs/core"),
        "agents": tuple(AgentRef(name, f"{name}:1", "sha256:bb") for name in agents),
        "rows": tuple(PlanRow(agent, name, trials) for (agent, name), trials in cells.items()),
        "seed": 7,
        "jobs": 2,
        "policy": Policy(),
        "limits": Limits(),
        "run_id": "20250304-050607-aaaaaa",
    }
    return RunPlan(**{**facts, **more})


def record(*verdicts: TrialVerdict, bars: Mapping[Property, float] | None = None, **plan: Any) -> Record:
    """The record of a run with these verdicts; `plan`: fields of the plan that are not as usual."""
    made = plan_of(verdicts, **plan)
    pack = pack_of(verdicts, bars)
    return record_of(made, pack, verdicts, judge_run(verdicts, pack.bars, made.planned))


def with_header(one: Record, **more: Any) -> Record:
    return Record(msgspec.structs.replace(one.header, **more), one.trials)


def runs_of(passes: int, n: int, prefix: str = "case") -> list[TrialVerdict]:
    """n scenarios of one trial, of which the first `passes` pass."""
    return [(passing if i < passes else failing)(f"{prefix}-{i:03}") for i in range(n)]


checks = st.builds(
    check,
    st.sampled_from(["exact", "tool_called", "grounded"]),
    st.sampled_from(list(Status)),
    st.sampled_from(list(Severity)),
    st.sampled_from([Property.CORRECTNESS, Property.SAFETY, Property.TOOL_USE]),
)


@st.composite
def verdicts(draw: st.DrawFn, agents: tuple[str, ...] = ("a", "b")) -> list[TrialVerdict]:
    """Trials of a run, at most one a cell, at least one of them counted."""
    cells = draw(
        st.lists(st.tuples(st.sampled_from(agents), st.sampled_from(["s-1", "s-2", "t-1"]), st.integers(1, 3)),
                 min_size=1, max_size=12, unique=True)
    )  # fmt: skip
    found = []
    for index, (agent, name, number) in enumerate(cells):
        blame = "agent" if index == 0 else draw(st.sampled_from(["agent", "agent", "agent", "integration", "harness"]))
        end = draw(st.sampled_from(["completed", "timeout"]))
        tools = tuple(draw(st.lists(st.sampled_from(["look", "pay"]), max_size=3)))
        usage = Usage(steps=draw(st.integers(0, 9)), wall_ms=draw(st.integers(0, 999)))
        said = draw(st.lists(checks, max_size=4))
        found.append(trial(name, number, *said, agent=agent, blame=blame, end=end, tools=tools, usage=usage))
    return found

"""From a run's plan, pack and verdicts to the record that is compared."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from harness.domain.ids import TrialKey, safe_id
from harness.domain.pack import Pack
from harness.domain.record import CheckRow, Header, PackId, Record, Summary, TrialRow
from harness.domain.run import RunPlan
from harness.domain.spec import AgentRef
from harness.domain.verdict import CheckVerdict, ExitCode, RunVerdict, TrialVerdict

_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}\Z")


def record_of(plan: RunPlan, pack: Pack, verdicts: Iterable[TrialVerdict], verdict: RunVerdict) -> Record:
    """The record of a run. `verdicts` are read once, the last one on a trial holds; `verdict`: of the same ones."""
    places = {scenario.id: (scenario.family, scenario.bucket) for scenario in pack.scenarios}
    rows: dict[TrialKey, TrialRow] = {}
    judges: set[str] = set()
    for trial in verdicts:
        rows[trial.key] = _row(trial, *places.get(trial.key.scenario, ("general", "happy")))
        judges |= {f"{c.judged.model}, prompt {c.judged.prompt}" for c in trial.checks if c.judged is not None}
    summary = _summary(verdict)
    header = Header(
        name=plan.run_id,
        run_id=plan.run_id,
        created=plan.created,
        harness=plan.harness,
        pack=PackId(plan.pack.name, plan.pack.version, plan.pack.digest),
        agents=tuple(sorted((_agent(agent) for agent in plan.agents), key=lambda agent: agent.name)),
        policy=plan.policy,
        limits=plan.limits,
        policy_digest=hashlib.sha256(msgspec.json.encode((plan.policy, plan.limits))).hexdigest(),
        seed=plan.seed,
        holdout=plan.holdout,
        only=tuple(sorted(plan.only)),
        bars=pack.bars,
        summary=summary,
        judge=plan.judge,
        judged_by=tuple(sorted(judges)),
        model=None if plan.model is None else str(plan.model),
        tools=None if plan.tools is None else str(plan.tools),
        doubts=doubts_of(summary),
    )
    return Record(header, tuple(rows[key] for key in sorted(rows)))


def doubts_of(summary: Summary) -> tuple[str, ...]:
    """Why no verdict can rest on these trials, or on nothing but an unsafe one; empty: it can."""
    counts = (
        (summary.inconclusive, "inconclusive trials"),
        (summary.missing, "missing trials"),
        (summary.not_scored, "trials with a check that could not be scored"),
    )
    found = [f"{count} {what}" for count, what in counts if count]
    if summary.scored == 0:
        found.append("no trial was scored")
    if summary.exit_code in _DOUBTFUL:
        found.append(f"exit code {int(summary.exit_code)} ({_DOUBTFUL[summary.exit_code]})")
    return tuple(found)


_DOUBTFUL = {
    ExitCode.SAFETY: "safety violation",
    ExitCode.NO_VERDICT: "no verdict",
    ExitCode.NOT_JUDGED: "something could not be judged",
}


def _summary(verdict: RunVerdict) -> Summary:
    return Summary(**{name: getattr(verdict, name) for name in Summary.__struct_fields__})


def _row(trial: TrialVerdict, family: str, bucket: str) -> TrialRow:
    return TrialRow(
        key=trial.key,
        family=family,
        bucket=bucket,
        end=trial.end,
        blame=trial.blame,
        counts=trial.counts,
        passed=trial.passed,
        checks=tuple(_check(check) for check in trial.checks),
        usage=trial.usage,
        tools=_tools(trial.tools),
    )


def _check(check: CheckVerdict) -> CheckRow:
    value = check.value if check.value is not None and math.isfinite(check.value) else None
    return CheckRow(check.check, check.status, check.severity, check.property, value)


def _tools(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name if _TOOL.match(name) else f"?{_short(name)}" for name in names)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _agent(agent: AgentRef) -> AgentRef:
    """Without a path of this machine, and without the words of an error: that there was friction is enough."""
    image = agent.image
    if image.startswith(("/", ".", "~")):
        image = safe_id(image.rstrip("/").rsplit("/", 1)[-1], agent.name)
    return msgspec.structs.replace(agent, image=image, friction="cannot be run" if agent.friction else None)

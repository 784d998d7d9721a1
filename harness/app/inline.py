"""A labelled case that is written out in full, seen as the trial it stands for, so that checks treat it as one."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from harness.domain.ids import TrialKey
from harness.domain.limits import Budget
from harness.domain.outcome import Blame, End, Outcome, Usage
from harness.domain.pack import ChatTurn, Scenario, ScenarioReplies
from harness.errors import UsageError
from harness.scoring.check import Open
from harness.scoring.judge.evidence import Evidence, evidence_of
from harness.scoring.judge.metrics import Criteria
from harness.scoring.params import param_problems
from harness.scoring.registry import CHECKS
from harness.scoring.trial import Answer, Ask, Call, Reply, Trial
from harness.scoring.values import quote

KEY = TrialKey("inline", "inline", 1)


class ToolUse(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call that was let through, and what it gave."""

    name: str
    arguments: dict[str, Any] = {}
    result: Any = None
    status: Literal["ok", "error"] = "ok"


class Exchange(Struct, frozen=True, forbid_unknown_fields=True):
    """A question of the agent to the user, and the reply."""

    question: str
    reply: str


class InlineLabel(Struct, frozen=True, forbid_unknown_fields=True):
    """A case with everything in it. `output`: the final answer, text or any other JSON as data.

    `criteria` in place of the check's own; `asks` come after `tools` in what is shown.
    """

    check: str
    input: str | list[ChatTurn]
    output: Any
    label: Literal["pass", "fail"]
    tools: list[ToolUse] = []
    criteria: Criteria | None = None
    asks: list[Exchange] = []
    status: Literal["completed", "refused"] = "completed"


def question_of(label: InlineLabel) -> tuple[Open, Evidence]:
    """What a judge is asked of the case. UsageError where the check asks none of it, or of no case at all."""
    entry = CHECKS.get(label.check)
    rubric = _rubric_field(entry.params) if entry is not None else None
    if entry is None or rubric is None:
        names = ", ".join(name for name, check in CHECKS.items() if _rubric_field(check.params))
        raise UsageError(f"check: expected one that a judge decides ({names}), came {quote(label.check)}")
    params = {rubric: label.criteria} if label.criteria is not None else {}
    if problems := param_problems(entry.params, params):
        raise UsageError(f"criteria: {problems[0][1]}")
    trial = _trial(label)
    said = entry.judge(trial, entry.params(**params))
    if not isinstance(said, Open):
        raise UsageError(f"no judge is asked: rules say {said.status} ({said.reason})")
    return said, evidence_of(trial)


def _rubric_field(params: type[Struct]) -> str | None:
    """Where a check that asks a judge takes its criteria."""
    return next((name for name in ("criteria", "rules") if name in params.__struct_fields__), None)


def _trial(label: InlineLabel) -> Trial:
    """Lines are counted as a journal of the case would have them: call, result, ..., ask, reply, ..., answer."""
    calls = tuple(
        Call(tool.name, tool.arguments, "allowed", 2 * at + 1, tool.status, tool.result, 2 * at + 2)
        for at, tool in enumerate(label.tools)
    )
    start = 2 * len(calls)
    asks = tuple(Ask(ask.question, start + 2 * at + 1) for at, ask in enumerate(label.asks))
    replies = tuple(Reply(ask.reply, start + 2 * at + 2) for at, ask in enumerate(label.asks))
    end = start + 2 * len(asks) + 1
    return Trial(
        scenario=_scenario(label),
        outcome=Outcome(KEY, 1, End(label.status), Blame.AGENT, "", True, Usage()),
        end_line=end + 1,
        calls=calls,
        asks=asks,
        model_calls=(),
        claims=(),
        answer=_answer(label.output, end),
        replies=replies,
    )


def _answer(output: Any, line: int) -> Answer | None:
    if output is None or (isinstance(output, str) and not output.strip()):
        return None
    return Answer(output, None, line) if isinstance(output, str) else Answer(None, output, line)


def _scenario(label: InlineLabel) -> Scenario:
    return Scenario(
        id=KEY.scenario,
        family="general",
        bucket="happy",
        tags=(),
        difficulty="medium",
        holdout=False,
        input=label.input if isinstance(label.input, str) else tuple(label.input),
        context={},
        tools={},
        allowed_tools=(),
        disallowed_tools=(),
        replies=ScenarioReplies(),
        checks=(),
        budget=Budget(),
        trials=1,
        canaries=(),
        writable=None,
        selftest=None,
    )

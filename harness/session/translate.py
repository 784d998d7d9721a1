"""Between what the parts speak and what the wire speaks."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from harness.domain.view import AgentView
from harness.ports import ModelAnswer
from protocol import VERSIONS
from protocol.messages import BudgetView, ChatTurn, Invoke, LimitsView, ModelChunk, ModelResult, ToolSpec


def build_invoke(view: AgentView) -> Invoke:
    """The one place where an `invoke` is made, from a struct that holds no ground truth."""
    text = view.input if isinstance(view.input, str) else [ChatTurn(t.role, t.content) for t in view.input]
    return Invoke(
        protocol=VERSIONS[0],
        run_id=view.run_id,
        case_id=view.case_id,
        trial=view.trial,
        input=text,
        tools=[ToolSpec(t.name, t.description, t.input_schema) for t in view.tools],
        budget=BudgetView(**to_builtins(view.budget)),
        limits=LimitsView(view.limits.max_line_bytes),
        context=view.context,
        workspace=view.workspace,
    )


def model_messages(ident: str, answer: ModelAnswer, stream: bool) -> list[ModelResult | ModelChunk]:
    """One `model_result`, or for a streamed call that did not fail its chunks, the last one with `done`."""
    if answer.error is not None:
        return [ModelResult(ident, answer.response, answer.error, answer.status)]
    if not stream or not answer.chunks:
        return [ModelResult(ident, answer.response)]
    last = len(answer.chunks) - 1
    return [ModelChunk(ident, delta, done=index == last) for index, delta in enumerate(answer.chunks)]


def model_evidence(answer: ModelAnswer) -> dict[str, Any]:
    """What is put on record of an answer: whole, also where it was streamed."""
    usage: dict[str, Any] = {
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost_usd": answer.cost_usd,
    }
    if answer.estimated:
        usage["estimated"] = True
    said: dict[str, Any] = {"response": answer.response}
    if answer.error is not None:
        said = {"error": answer.error, **({} if answer.status is None else {"status": answer.status})}
    names = {"asked": answer.asked, "used": answer.used}
    return {**said, "usage": usage, **{key: name for key, name in names.items() if name is not None}}

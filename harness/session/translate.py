"""Between what the parts speak and what the wire speaks."""

from __future__ import annotations

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
    """One `model_result`, or for a streamed call the message as one chunk and the closing one."""
    if not stream or answer.response is None:
        return [ModelResult(ident, response=answer.response)]
    choices = answer.response.get("choices") or [{}]
    delta = choices[0].get("message", {})
    return [ModelChunk(ident, delta), ModelChunk(ident, {"finish_reason": choices[0].get("finish_reason")}, done=True)]

"""Between what the parts speak and what the wire speaks."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec import to_builtins
from msgspec.json import encode

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
    """What is put on record of an answer: whole, also where it was streamed; of embeddings only their digests."""
    usage: dict[str, Any] = {
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost_usd": answer.cost_usd,
    }
    if answer.estimated:
        usage["estimated"] = True
    said: dict[str, Any] = {"response": _without_vectors(answer.response)}
    if answer.error is not None:
        said = {"error": answer.error, **({} if answer.status is None else {"status": answer.status})}
    names = {"asked": answer.asked, "used": answer.used}
    return {**said, "usage": usage, **{key: name for key, name in names.items() if name is not None}}


def _without_vectors(response: Any) -> Any:
    """Vectors are many numbers that say nothing to a reader: `sha256:...` of their JSON stands for each."""
    data = response.get("data") if isinstance(response, Mapping) else None
    if not isinstance(data, list) or not any(isinstance(item, Mapping) and "embedding" in item for item in data):
        return response
    return {**response, "data": [_without_vector(item) for item in data]}


def _without_vector(item: Any) -> Any:
    if not isinstance(item, Mapping) or "embedding" not in item:
        return item
    return {**item, "embedding": f"sha256:{sha256(encode(item['embedding'])).hexdigest()}"}

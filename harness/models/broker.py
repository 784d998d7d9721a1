"""Between a session and its models: every shape to one request, names to names, and each answer back in its shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from harness.models.cassette import TrialRecorder
from harness.models.names import Names
from harness.models.outgoing import LIMITS, asked_tokens, sent_tokens
from harness.models.prices import Prices
from harness.models.shapes.listing import model_list, one_model
from harness.models.shapes.read import read, unread_error
from harness.models.shapes.shape import Shape
from harness.ports import Estimate, ModelAnswer, ModelProvider

_ABOUT_LIMIT = re.compile("|".join(LIMITS))
_MOST_WORDS = 1000


def _no_time() -> int:
    return 0


class Broker:
    """The models of one trial (a `harness.ports.ModelBroker`) over one source.

    `names` None: the source knows the names itself, as a cassette does. `prices` None: nothing is spent, so nothing
    is set aside. `held`: see `ModelBroker.held_ms`.
    """

    def __init__(
        self,
        source: ModelProvider,
        names: Names | None = None,
        prices: Prices | None = None,
        recorder: TrialRecorder | None = None,
        held: Callable[[], int] = _no_time,
    ) -> None:
        self._source = source
        self._names = names
        self._prices = prices
        self._recorder = recorder
        self.held_ms = held
        self._too_large = 1 << 62

    def estimate(self, request: Mapping[str, Any]) -> Estimate | None:
        if self._prices is None or request.get("api") == "models":
            return None
        price = self._prices.of(self._used(request))
        prices = (None, None) if price is None else (price.input / 1_000_000, price.output / 1_000_000)
        return Estimate(sent_tokens(request), asked_tokens(request), *prices)

    async def complete(self, request: Mapping[str, Any], stream: bool, most: int | None) -> ModelAnswer:
        try:
            shape = read(request)
        except ValueError as error:
            said = str(error)[:_MOST_WORDS]
            return ModelAnswer(unread_error(request, 400, said), 0, 0, 0.0, error=said, status=400)
        asked, used = _name(request), self._used(request)
        answer = await self._answered(shape, used, stream, most)
        if self._recorder is not None:
            await self._recorder.put(shape.body, answer)
        answer = replace(answer, asked=asked or None, used=answer.used or used or None)
        return _rendered(shape, answer, stream)

    def _used(self, request: Mapping[str, Any]) -> str:
        asked = _name(request)
        return asked if self._names is None else self._names.used(asked, request.get("api") != "embeddings")

    async def _answered(self, shape: Shape, used: str, stream: bool, most: int | None) -> ModelAnswer:
        body = dict(shape.body)
        if body.get("api") == "models" and self._names is not None and self._names.listed:
            return self._listed(body.get("model"))
        if used:
            body["model"] = used
        # Only a chat's chunks are its own; other shapes are made from the whole answer, whose usage is always told.
        body["stream"] = stream and shape.chunked
        if most is None or most >= self._too_large:
            return await self._source.complete(body)
        answer = await self._source.complete({**body, **_cut(body, most)})
        if answer.status in (400, 422) and _ABOUT_LIMIT.search(answer.error or ""):
            # The model itself can say less than the budget allows: its own limit is then the tighter one.
            self._too_large = most
            return await self._source.complete(body)
        return answer

    def _listed(self, name: str | None) -> ModelAnswer:
        names = self._names.listed if self._names is not None else ()
        return ModelAnswer(model_list(names) if name is None else one_model(name), 0, 0, 0.0)


def _name(request: Mapping[str, Any]) -> str:
    name = request.get("model")
    return name[:200] if isinstance(name, str) else ""


def _cut(body: Mapping[str, Any], most: int) -> dict[str, int]:
    """The limit to ask for: under the name that the agent uses, and never more than it asked for."""
    times = body.get("n")
    most = max(1, most // times) if type(times) is int and times > 1 else most
    given = {name: body[name] for name in LIMITS if type(body.get(name)) is int}
    return {name: min(limit, most) for name, limit in given.items()} or {LIMITS[0]: most}


def _rendered(shape: Shape, answer: ModelAnswer, stream: bool) -> ModelAnswer:
    """The answer in the request's shape. It bears the name that was asked for, as the agent's clients look for it."""
    if answer.error is not None:
        status = answer.status or 500
        return replace(answer, response=shape.error(status, answer.error), status=status)
    completion = dict(answer.response or {})
    name = answer.asked or answer.used
    if "model" in completion or "choices" in completion:
        completion["model"] = name or completion.get("model") or "model"
    chunks = [{**chunk, "model": completion["model"]} if "model" in chunk else chunk for chunk in answer.chunks]
    try:
        response = shape.response(completion)
        deltas = shape.deltas(completion, chunks) if stream else ()
    except ValueError as error:
        # What the model said does not fit into the shape: as if a server had failed, which clients ask again.
        said = str(error)[:_MOST_WORDS]
        return replace(answer, response=shape.error(502, said), error=said, status=502, chunks=())
    return replace(answer, response=response, chunks=tuple(deltas))

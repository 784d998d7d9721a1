"""Models behind an OpenAI-compatible API: the one place that holds their key, asks them, and counts what they took."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import msgspec
import openai
from msgspec import Struct
from openai import AsyncStream

from harness.domain.model import ModelSpec, Price
from harness.errors import UpstreamError
from harness.models.client import checked_key, checked_url, complaint_of, open_client, shown
from harness.models.dialect import named_parameter
from harness.models.failures import MODEL, Failures, said
from harness.models.held import CURRENT, Attempts, Held, WatchedClient
from harness.models.outgoing import LIMITS, asked_tokens, outgoing, sent_tokens
from harness.models.prices import Prices, cost
from harness.models.purse import Purse
from harness.models.replies import (
    Json,
    Listed,
    counted_completion,
    counted_embeddings,
    decoded,
    joined,
    without_key,
)
from harness.models.shapes.listing import model_list, one_model
from harness.ports import ModelAnswer

_MAX_REPLY_BYTES = 32 * 2**20
_ASSUMED_ANSWER = 4096
"""Tokens set aside of the run's own purse for an answer whose request names no limit."""
_AGENTS_FAULT = (400, 413, 422)
_COUNTS = re.compile(r"stream_options|include_usage", re.IGNORECASE)
_NO_SUCH_MODEL = re.compile(r"model_not_found|model\b.{0,100}\b(not found|does not exist|unknown)", re.I | re.S)


class _Steps(Struct, frozen=True):
    """What a server turned out not to take: the other name of the limit, being asked for usage in a stream."""

    renamed: bool = False
    uncounted: bool = False

    def body(self, body: Json) -> Json:
        body = dict(body)
        if self.uncounted:
            body.pop("stream_options", None)
        if self.renamed:
            for old, new in (LIMITS, LIMITS[::-1]):
                if old in body:
                    body[new] = body.pop(old)
                    break
        return body

    def below(self, err: openai.APIStatusError, body: Json) -> _Steps | None:
        complaint = complaint_of(err)
        if err.status_code not in (400, 404, 422) and err.status_code < 500:
            return None
        if "stream_options" in body and not self.uncounted and _COUNTS.search(complaint):
            return msgspec.structs.replace(self, uncounted=True)
        if not self.renamed and any(name in body for name in LIMITS) and named_parameter(complaint) == "limit":
            return msgspec.structs.replace(self, renamed=True)
        return None


class Upstream:
    """The server of one run. Retries, their waits and Retry-After are openai's, `settings.retries` of them.

    One attempt takes `settings.timeout_ms` at most, at most `settings.concurrency` calls are made at once. Raises
    UsageError for a URL or key that cannot be one. An empty key means the server needs none.
    """

    def __init__(self, spec: ModelSpec, api_key: str, prices: Prices) -> None:
        settings = spec.settings
        self.spec = spec
        self.prices = prices
        self.key = checked_key(api_key, MODEL)
        http = WatchedClient(settings.timeout_ms / 1000, _MAX_REPLY_BYTES)
        self.client = open_client(checked_url(spec.base_url, MODEL), self.key, http, settings.retries)
        name = f" {spec.model}" if spec.model else ""
        self.failures = Failures(f"the model{name} at {shown(self.client.base_url)}", self.key, MODEL)
        self.gate = anyio.CapacityLimiter(settings.concurrency)
        self.purse = Purse(settings.max_cost_usd)
        self._steps = _Steps()

    async def aclose(self) -> None:
        """Close the connections; no call may follow."""
        await self.client.close()

    async def asked(self, path: str, body: Json) -> Json | list[Json]:
        """The reply to `body`: an object, or for a stream its chunks. Raises what openai raises, or ValueError."""
        steps = self._steps
        while True:
            try:
                reply = await self._post(path, steps.body(body))
            except openai.APIStatusError as err:
                below = steps.below(err, body)
                if below is None:
                    raise
                steps = below
            else:
                own = self._steps
                self._steps = _Steps(own.renamed or steps.renamed, own.uncounted or steps.uncounted)
                return reply

    async def _post(self, path: str, body: Json) -> Json | list[Json]:
        import httpx2

        if not body.get("stream"):
            response = await self.client.post(path, body=body, cast_to=httpx2.Response)
            return decoded(response.content, self.key)
        stream = await self.client.post(path, body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object])
        chunks: list[Json] = []
        async for chunk in stream:
            if not isinstance(chunk, dict):
                raise ValueError("a chunk of its stream is no JSON object")
            chunks.append(without_key(chunk, self.key))
        return chunks

    async def names(self) -> list[str]:
        """The models the server lists."""
        import httpx2

        response = await self.client.get("/models", cast_to=httpx2.Response)
        return [model.id for model in msgspec.convert(decoded(response.content, self.key), Listed).data]


class UpstreamModel:
    """The upstream as one trial sees it (a `harness.ports.ModelProvider`)."""

    def __init__(self, upstream: Upstream, now_ms: Callable[[], int]) -> None:
        self._upstream = upstream
        self.held = Held(now_ms)

    async def complete(self, request: Mapping[str, Any]) -> ModelAnswer:
        """UpstreamError where, after all retries, there is no answer that can be read; SpendLimit.

        A request that the upstream does not take is the agent's own error, and an answer.
        """
        try:
            path, body = _request(request)
        except ValueError as error:
            return _refused(400, str(error))
        up = self._upstream
        model = str(body.get("model", ""))
        price = up.prices.of(model)
        answered = asked_tokens(request)
        out = _ASSUMED_ANSWER if answered is None else answered
        most = None if price is None else cost(price, sent_tokens(body), out)
        reserved = await up.purse.reserve(0.0 if path == "/models" else most, model)
        spent: float | None = None
        try:
            answer = await self._in_turn(path, body, model, price)
            spent = answer.cost_usd
            return answer
        finally:
            up.purse.settle(reserved, spent)

    async def _in_turn(self, path: str, body: Json, model: str, price: Price | None) -> ModelAnswer:
        up, wait = self._upstream, object()
        self.held.begin(wait)
        try:
            async with up.gate:
                self.held.end(wait)
                return await self._watched(path, body, model, price)
        finally:
            self.held.end(wait)

    async def _watched(self, path: str, body: Json, model: str, price: Price | None) -> ModelAnswer:
        up = self._upstream
        attempts = Attempts(self.held)
        token = CURRENT.set(attempts)
        try:
            if path == "/models":
                return _listed(await up.names(), model)
            reply = await up.asked(path, body)
            return _answer(reply, body, model, price)
        except openai.APIStatusError as err:
            ours = up.failures.of(err)
            if self._is_agents(err, model):
                return _refused(err.status_code, up.failures.clean(said(err.body)) or "the request was refused")
            raise ours from err
        except UpstreamError:
            raise
        except (ValueError, RecursionError, AssertionError) as err:
            what = up.failures.clean(str(err))
            raise up.failures.error(
                f"answered with nothing that can be used: {what}", "check the URL, it ends in /v1"
            ) from err
        except Exception as err:
            # Not only OpenAIError: whatever a hostile reply brings openai or httpx to raise ends here.
            raise up.failures.of(err) from err
        finally:
            attempts.over()
            CURRENT.reset(token)

    def _is_agents(self, err: openai.APIStatusError, model: str) -> bool:
        """Whether a refusal is about what the agent asked, not about what this run set."""
        spec = self._upstream.spec
        ours = model == spec.model or any(rule.used == model for rule in spec.names)
        unknown = err.status_code == 404 or _NO_SUCH_MODEL.search(complaint_of(err)) is not None
        if unknown:
            return not ours
        return err.status_code in _AGENTS_FAULT


def _request(request: Mapping[str, Any]) -> tuple[str, Json]:
    """The path and body to send. ValueError where the agent asks for what is not passed on."""
    api = request.get("api")
    body = {name: value for name, value in request.items() if name != "api"}
    if api == "models":
        return "/models", body
    if api == "embeddings":
        return "/embeddings", body
    body = outgoing(body)
    if request.get("stream") is True:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return "/chat/completions", body


def _answer(reply: Json | list[Json], body: Json, model: str, price: Price | None) -> ModelAnswer:
    """ValueError where the reply is none."""
    chunks = reply if isinstance(reply, list) else []
    whole = joined(chunks) if isinstance(reply, list) else reply
    if whole.get("error") and not (whole.get("choices") or whole.get("data")):
        raise ValueError(f"an error: {said(whole['error'])}")
    counted = counted_completion(whole, body) if "messages" in body else counted_embeddings(whole, body)
    usd = None if price is None else cost(price, counted.sent, counted.answered, counted.cached)
    if counted.estimated and usd:
        usd = None  # a price of tokens that nobody counted is not known; one of 0 is
    return ModelAnswer(
        counted.body, counted.sent, counted.answered, usd, chunks=tuple(chunks), used=model, estimated=counted.estimated
    )


def _listed(names: list[str], model: str) -> ModelAnswer:
    if not model:
        return ModelAnswer(model_list(names), 0, 0, 0.0)
    if model not in names:
        return _refused(404, f"there is no model {model[:100]!r}")
    return ModelAnswer(one_model(model), 0, 0, 0.0, used=model)


def _refused(status: int, message: str) -> ModelAnswer:
    return ModelAnswer(None, 0, 0, 0.0, error=message, status=status)

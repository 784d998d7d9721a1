"""The upstream against a server on a local port: what it is asked, what it took, and whose fault a failure is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from harness.app.clock import MonotonicClock
from harness.domain.model import ModelSettings, ModelSpec, Price
from harness.errors import SpendLimit, UpstreamError, UsageError
from harness.models.broker import Broker
from harness.models.names import Names
from harness.models.prices import Prices, cost
from harness.models.upstream import Upstream, UpstreamModel
from harness.ports import ModelAnswer
from tests.openai_server import (
    OpenAIServer,
    Request,
    Step,
    drips,
    echoes,
    embeds,
    fails,
    floods,
    hangs,
    limited,
    lists,
    raw,
    redirects,
    rejects,
    says,
    streams,
)

pytestmark = pytest.mark.anyio
KEY = "sk-planted-0123456789abcdef"
HI: dict[str, Any] = {"model": "asked", "messages": [{"role": "user", "content": "Hi"}]}
PRICES = {"m": Price(1.0, 10.0, cached=0.5), "free": Price(0.0, 0.0)}


@asynccontextmanager
async def opened(
    server: OpenAIServer, model: str = "m", key: str = KEY, **settings: Any
) -> AsyncIterator[UpstreamModel]:
    spec = ModelSpec("openai", model, server.url, settings=ModelSettings(**{"retries": 0, **settings}))
    upstream = Upstream(spec, key, Prices(PRICES))
    try:
        yield UpstreamModel(upstream, MonotonicClock().now_ms)
    finally:
        await upstream.aclose()


async def ask(server: OpenAIServer, request: dict[str, Any] | None = None, **more: Any) -> ModelAnswer:
    async with opened(server, **more) as model:
        return await model.complete({**HI, "model": more.get("model", "m") or "asked", **(request or {})})


async def test_an_answer_is_counted_and_priced_by_what_the_upstream_says() -> None:
    with OpenAIServer(says("Hello.", tokens=(1000, 200))) as server:
        answer = await ask(server)
    assert (answer.input_tokens, answer.output_tokens, answer.estimated) == (1000, 200, False)
    assert answer.cost_usd == pytest.approx((1000 * 1.0 + 200 * 10.0) / 1e6)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_what_was_read_from_the_cache_has_its_own_price() -> None:
    assert cost(PRICES["m"], 1000, 0, cached=400) == pytest.approx((600 * 1.0 + 400 * 0.5) / 1e6)
    assert cost(Price(1.0, 1.0), 1000, 0, cached=400) == pytest.approx(0.001)
    assert cost(PRICES["m"], 10, 0, cached=400) == pytest.approx(10 * 0.5 / 1e6)


def test_a_dated_name_has_the_price_of_its_model_and_an_unknown_one_has_none() -> None:
    prices = Prices({})
    assert prices.of("gpt-4o-mini-2024-07-18") == prices.of("gpt-4o-mini") is not None
    assert prices.of("claude-sonnet-4-20250514") == prices.of("claude-sonnet-4") is not None
    assert prices.of("somebodys-model") is None
    assert all(price.date and price.source for price in map(prices.of, ("gpt-4o", "o3")) if price)


async def test_an_unknown_price_is_none_and_never_nothing() -> None:
    with OpenAIServer(says("x")) as server:
        assert (await ask(server, model="unheard-of")).cost_usd is None


@pytest.mark.parametrize("tokens", [None, (-1, 5), (10**15, 1)])
async def test_tokens_that_nobody_counted_are_an_estimate_and_have_no_price_unless_it_is_nothing(tokens: Any) -> None:
    with OpenAIServer(says("Hello there", tokens=tokens)) as server:
        answer = await ask(server)
        free = await ask(server, model="free")
    assert (answer.estimated, answer.cost_usd, free.cost_usd) == (True, None, 0.0)
    assert 0 < answer.input_tokens < 40
    assert 0 < answer.output_tokens < 40
    assert answer.response is not None
    assert answer.response["usage"]["total_tokens"] == answer.input_tokens + answer.output_tokens


async def test_a_stream_is_asked_for_its_usage_joined_and_passed_on_as_it_came() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}
    more = {"tool_calls": [{"index": 0, "function": {"arguments": '{"q":1}'}}]}
    deltas = [{"role": "assistant", "content": "Hel"}, {"content": "lo"}, {"tool_calls": [call]}, more]
    with OpenAIServer(streams(*deltas, tokens=(50, 9), finish="tool_calls")) as server:
        answer = await ask(server, {"stream": True})
    assert server.bodies[0]["stream_options"] == {"include_usage": True}
    assert (answer.input_tokens, answer.output_tokens) == (50, 9)
    assert [chunk["choices"][0]["delta"] for chunk in answer.chunks if chunk["choices"]] == [*deltas, {}]
    assert answer.response is not None
    (choice,) = answer.response["choices"]
    assert choice["message"]["content"] == "Hello"
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"q":1}'}


async def test_the_agent_hears_only_of_the_usage_it_asked_for() -> None:
    with OpenAIServer(streams({"content": "x"})) as server:
        async with opened(server) as model:
            broker = Broker(model, Names((), "m"))
            silent = await broker.complete({"api": "chat", **HI}, True, None)
            told = await broker.complete({"api": "chat", "stream_options": {"include_usage": True}, **HI}, True, None)
            plain = await broker.complete(HI, True, None)
    assert [len(answer.chunks) for answer in (silent, told)] == [2, 3]
    assert [chunk["data"]["model"] for chunk in told.chunks] == ["asked"] * 3
    assert plain.chunks == ({"content": "x"}, {"finish_reason": "stop"})


async def test_a_server_that_takes_no_stream_options_is_asked_without_and_remembered() -> None:
    def picky(request: Request) -> Step:
        return rejects("stream_options") if "stream_options" in request.body else streams({"content": "x"}, tokens=None)

    with OpenAIServer(picky) as server:
        async with opened(server) as model:
            answers = [await model.complete({**HI, "stream": True}) for _ in range(2)]
    assert [answer.estimated for answer in answers] == [True, True]
    assert len(server.requests) == 3


async def test_a_limit_the_server_knows_by_its_other_name_is_given_under_that() -> None:
    def modern(request: Request) -> Step:
        return rejects("max_tokens") if "max_tokens" in request.body else says("x")

    with OpenAIServer(modern) as server:
        async with opened(server) as model:
            for _ in range(2):
                assert (await model.complete({**HI, "max_tokens": 9})).error is None
    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 9, 9]


async def test_embeddings_and_lists_go_to_their_own_paths() -> None:
    with OpenAIServer(embeds([1.0, 0.0], tokens=4), lists("a", "b")) as server:
        async with opened(server, model="") as model:
            vectors = await model.complete({"api": "embeddings", "model": "m", "input": ["x"]})
            found = await model.complete({"api": "models"})
            one = await model.complete({"api": "models", "model": "b"})
            none = await model.complete({"api": "models", "model": "c"})
    assert [request.path for request in server.requests] == ["/v1/embeddings", *["/v1/models"] * 3]
    assert (vectors.input_tokens, vectors.output_tokens, vectors.cost_usd) == (4, 0, pytest.approx(4e-6))
    assert [model["id"] for model in (found.response or {})["data"]] == ["a", "b"]
    assert (one.response or {})["id"] == "b"
    assert (none.status, none.cost_usd) == (404, 0.0)


# ---- whose fault ----


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_request_the_upstream_does_not_take_is_the_agents_own_error(status: int) -> None:
    with OpenAIServer(fails(status, "messages: too long")) as server:
        answer = await ask(server)
    assert (answer.status, answer.error, answer.response, answer.cost_usd) == (status, "messages: too long", None, 0.0)


@pytest.mark.parametrize(
    "step", [fails(404, "no such model"), fails(400, "The model `m` does not exist", code="model_not_found")]
)
async def test_a_model_that_is_not_there_is_the_agents_error_only_where_it_chose_it(step: Step) -> None:
    with OpenAIServer(step) as server:
        assert (await ask(server, model="")).error is not None
        with pytest.raises(UpstreamError):
            await ask(server, model="m")


@pytest.mark.parametrize(
    "step",
    [
        fails(500), fails(503), fails(429), fails(401), fails(403), raw("<html>"), raw("[]"), raw("{}"), raw(b"\xff"),
        raw('{"choices": []}'), raw('{"choices": [{"message": {"content": 5}}]}'), raw('{"choices": [{"message": 3}]}'),
        raw('{"error": {"message": "overloaded"}}'), raw("[" * 100_000), redirects("http://127.0.0.1:1/v1"),
        floods(40), raw('{"choices": [{"message": {"tool_calls": [{"function": {"name": "x"}}]}}]}'),
    ],
    ids=str,
)  # fmt: skip
async def test_what_is_no_answer_is_the_upstreams_fault(step: Step) -> None:
    with OpenAIServer(step) as server, pytest.raises(UpstreamError) as caught:
        await ask(server)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "step",
    [
        raw("data: {}\n\n"), raw("data: 3\n\n"), raw("data: {\n\n"), raw(""), raw("data: [DONE]\n\n"),
        raw('data: {"error": {"message": "no"}}\n\n'), raw('data: {"choices": [{"delta": 3}]}\n\n'),
    ],
    ids=str,
)  # fmt: skip
async def test_a_stream_that_is_none_is_the_upstreams_fault(step: Step) -> None:
    with OpenAIServer(step) as server, pytest.raises(UpstreamError) as caught:
        await ask(server, {"stream": True})
    assert KEY not in str(caught.value)


async def test_a_stream_of_nothing_is_an_empty_answer() -> None:
    with OpenAIServer(streams()) as server:
        answer = await ask(server, {"stream": True})
    assert answer.response is not None
    assert answer.response["choices"][0]["message"]["content"] is None


async def test_a_server_that_drips_or_hangs_is_over_in_time() -> None:
    for step in (hangs(), drips(b" " * 10_000, 0.01)):
        with OpenAIServer(step) as server, anyio.fail_after(5), pytest.raises(UpstreamError, match="no reply in time"):
            await ask(server, timeout_ms=200)


async def test_a_failure_is_tried_again_and_the_time_it_took_is_not_the_agents() -> None:
    with OpenAIServer(fails(500), limited(0.3), says("x")) as server:
        async with opened(server, retries=2) as model:
            answer = await model.complete(HI)
            held = model.held.ms()
    assert answer.error is None
    assert held >= 300
    assert len(server.requests) == 3


async def test_the_time_of_an_answer_is_the_agents_own() -> None:
    with OpenAIServer(says("x")) as server:
        async with opened(server) as model:
            await model.complete(HI)
            assert model.held.ms() < 50


async def test_no_more_calls_at_once_than_allowed_and_the_wait_is_not_the_agents() -> None:
    with OpenAIServer(drips(says("x").body, 0.001)) as server:
        async with opened(server, concurrency=2) as model, anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(model.complete, HI)
    assert (server.at_once, len(server.requests)) == (2, 6)
    assert model.held.ms() > 100


# ---- what leaves, and what never does ----


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"web_search_options": {}}, "web_search_options"),
        ({"api_base": "http://elsewhere"}, "api_base"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"messages": []}, "messages"),
        ({"messages": ["x"]}, "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y"}}]}]},
            "data:",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]}, "file_data"),
        ({"messages": [{"role": "user", "content": [{"type": "video_url"}]}]}, "video_url"),
    ],
)
async def test_what_would_reach_further_than_the_model_is_refused(change: dict[str, Any], said: str) -> None:
    with OpenAIServer(says("x")) as server:
        answer = await ask(server, change)
    assert answer.status == 400
    assert said in (answer.error or "")
    assert server.requests == []


async def test_what_only_concerns_an_account_is_not_passed_on() -> None:
    with OpenAIServer(says("x")) as server:
        await ask(server, {"user": "u", "metadata": {"a": "b"}, "store": True, "service_tier": "priority"})
    assert set(server.bodies[0]) == {"model", "messages"}


@pytest.mark.parametrize("status", [200, 400, 500])
async def test_the_key_is_in_nothing_that_comes_back(status: int) -> None:
    def echo(request: Request) -> Step:
        headers = json.dumps(dict(request.headers)).replace("planted", "pl\\u0061nted")
        return (
            raw(says(f"You sent {dict(request.headers)} {headers}").body) if status == 200 else echoes(status)(request)
        )

    with OpenAIServer(echo) as server:
        try:
            said = repr(await ask(server))
        except UpstreamError as error:
            said = repr(error) + str(error) + repr(error.__cause__)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in said


@pytest.mark.parametrize(("url", "key"), [("ftp://x/v1", "k"), ("http://u:p@x/v1", "k"), ("http://x/v1", "a b")])
async def test_a_url_or_key_that_cannot_be_one_is_refused_before_any_call(url: str, key: str) -> None:
    with pytest.raises(UsageError) as caught:
        Upstream(ModelSpec("openai", "m", url), key, Prices({}))
    assert "model" in str(caught.value)


# ---- the run's own purse ----


async def test_the_runs_purse_is_kept_by_calls_that_come_together() -> None:
    with OpenAIServer(says("x", tokens=(0, 100_000))) as server:  # one US dollar each
        async with opened(server, max_cost_usd=2.5) as model:
            failed = 0

            async def call() -> None:
                nonlocal failed
                try:
                    await model.complete({**HI, "model": "m", "max_tokens": 100_000})
                except SpendLimit:
                    failed += 1

            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(call)
    assert (failed, len(server.requests)) == (3, 2)


async def test_a_purse_needs_a_price() -> None:
    with OpenAIServer(says("x")) as server, pytest.raises(SpendLimit, match="price of nobody"):
        await ask(server, model="nobody", max_cost_usd=1.0)

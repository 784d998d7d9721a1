"""The broker: names, limits, lists of models and embeddings, whatever the source."""

from __future__ import annotations

import math
from typing import Any

import openai
import pytest

from harness.domain.model import NameRule, Price
from harness.domain.pack import ModelTurn, ReplyError
from harness.models.broker import Broker
from harness.models.names import Names
from harness.models.none import NoModel
from harness.models.prices import Prices
from harness.models.scripted import ScriptedModel
from harness.ports import Estimate, ModelAnswer
from tests.unit.models.clients import Gateway, Saying, anthropic_client, openai_client, scripted

pytestmark = pytest.mark.anyio
HI: dict[str, Any] = {"model": "gpt-3.5-turbo", "messages": [{"role": "user", "content": "Hi"}]}
RULES = (NameRule("gpt-3.5-turbo", "local"), NameRule("gpt-*", "other"), NameRule("text-*", "vectors"))


@pytest.mark.parametrize(
    ("asked", "fixed", "chat", "used"),
    [
        ("gpt-3.5-turbo", "", True, "local"),
        ("gpt-4o", "big", True, "other"),
        ("claude", "big", True, "big"),
        ("claude", "", True, "claude"),
        ("", "big", True, "big"),
        ("", "", True, ""),
        ("text-embedding-3-small", "big", False, "vectors"),
        ("embed", "big", False, "embed"),
    ],
)
def test_the_first_rule_that_fits_decides_then_the_fixed_model(asked: str, fixed: str, chat: bool, used: str) -> None:
    assert Names(RULES, fixed).used(asked, chat) == used


async def test_both_names_are_told_and_the_agent_reads_the_one_it_asked_for() -> None:
    source = Saying(content="x")
    answer = await Broker(source, Names(RULES)).complete(HI, False, None)
    assert (answer.asked, answer.used) == ("gpt-3.5-turbo", "local")
    assert source.requests[0]["model"] == "local"
    assert answer.response is not None
    assert answer.response["model"] == "gpt-3.5-turbo"


async def test_without_an_api_a_stream_is_deltas_as_before() -> None:
    answer = await Broker(Saying(content="x")).complete(HI, True, None)
    assert answer.chunks == ({"role": "assistant", "content": "x"}, {"finish_reason": "stop"})
    assert answer.response is not None


async def test_no_model_is_a_refusal_in_the_words_of_the_api() -> None:
    answer = await Broker(NoModel()).complete({"api": "messages", "max_tokens": 1, "messages": []}, False, None)
    assert (answer.status, answer.error) == (403, "this run gives agents no model")
    assert answer.response == {"type": "error", "error": {"type": "permission_error", "message": answer.error}}
    assert (await Broker(NoModel()).complete(HI, False, None)).response is None


@pytest.mark.parametrize(
    ("limits", "most", "sent"),
    [
        ({}, None, {}),
        ({}, 70, {"max_tokens": 70}),
        ({"max_tokens": 50}, 70, {"max_tokens": 50}),
        ({"max_tokens": 90}, 70, {"max_tokens": 70}),
        ({"max_completion_tokens": 90}, 70, {"max_completion_tokens": 70}),
        ({"max_tokens": 90, "n": 7}, 70, {"max_tokens": 10, "n": 7}),
    ],
)
async def test_an_answer_is_cut_where_the_budget_is(limits: Any, most: int | None, sent: Any) -> None:
    source = Saying(content="x")
    await Broker(source).complete({**HI, **limits}, False, most)
    asked = source.requests[0]
    assert {key: asked[key] for key in asked if key not in ("model", "messages", "stream")} == sent


class Short:
    """A model that takes no limit above 100."""

    def __init__(self) -> None:
        self.limits: list[Any] = []

    async def complete(self, request: Any) -> ModelAnswer:
        self.limits.append(request.get("max_tokens"))
        if request.get("max_tokens", 0) > 100:
            return ModelAnswer(None, 0, 0, 0.0, error="max_tokens is too large: at most 100", status=400)
        return await Saying(content="x").complete(request)


async def test_a_cut_of_ours_that_the_model_does_not_take_is_left_out_and_not_the_agents_mistake() -> None:
    source = Short()
    broker = Broker(source)
    for most in (5000, 6000, 90):
        assert (await broker.complete(HI, False, most)).error is None
    assert source.limits == [5000, None, None, 90]
    assert (await Broker(Short()).complete({**HI, "max_tokens": 200}, False, None)).status == 400


def test_an_estimate_knows_the_limit_and_the_price_of_the_model_that_is_used() -> None:
    prices = Prices({"local": Price(1.0, 4.0)})
    broker = Broker(Saying(content="x"), Names(RULES), prices)
    estimate = broker.estimate({**HI, "max_tokens": 30, "n": 2})
    assert estimate is not None
    assert (estimate.output_tokens, estimate.usd_in, estimate.usd_out) == (60, 1e-6, 4e-6)
    assert 20 <= estimate.input_tokens <= 40
    unknown = broker.estimate({"api": "messages", "model": "nobody-knows", "max_tokens": 9})
    assert isinstance(unknown, Estimate)
    assert (unknown.output_tokens, unknown.usd_in) == (9, None)
    assert broker.estimate({"api": "models"}) is None
    assert Broker(Saying(content="x")).estimate(HI) is None


def test_an_image_is_not_counted_by_its_letters() -> None:
    broker = Broker(Saying(content="x"), Names(()), Prices({}))
    url = "data:image/png;base64," + "A" * 400_000
    content = [{"type": "image_url", "image_url": {"url": url}}]
    estimate = broker.estimate({"model": "m", "messages": [{"role": "user", "content": content}]})
    assert estimate is not None
    assert 1500 <= estimate.input_tokens <= 1600


def test_both_clients_list_models_and_find_one() -> None:
    gateway = Gateway(Broker(Saying(content="x"), Names((NameRule("a", "x"), NameRule("b-*", "x")), "fixed")))
    assert [model.id for model in openai_client(gateway).models.list()] == ["a", "fixed"]
    assert [model.id for model in anthropic_client(gateway).models.list()] == ["a", "fixed"]
    assert openai_client(gateway).models.retrieve("a").id == "a"
    assert anthropic_client(gateway).models.retrieve("a").display_name == "a"
    assert [model.id for model in openai_client(scripted()).models.list()] == ["default"]


def test_scripted_embeddings_are_the_same_for_equal_texts_and_near_for_similar_ones() -> None:
    client = openai_client(scripted())
    texts = ["refund policy premium", "premium refund policy please", "weather in Oslo", "refund policy premium"]
    vectors = [item.embedding for item in client.embeddings.create(model="e", input=texts).data]
    assert vectors[0] == vectors[3]
    near, far = (sum(a * b for a, b in zip(vectors[0], other, strict=True)) for other in vectors[1:3])
    assert near > 0.8 > 0.3 > far
    assert all(math.isclose(sum(value * value for value in vector), 1.0, rel_tol=1e-5) for vector in vectors)
    plain = client.embeddings.create(model="e", input="refund policy premium", encoding_format="float", dimensions=256)
    assert plain.data[0].embedding == pytest.approx(vectors[0], abs=1e-6)
    assert len(client.embeddings.create(model="e", input=[[1, 2], [3]], dimensions=8).data[1].embedding) == 8


@pytest.mark.parametrize("given", [[], ["a", 1], {"a": 1}, None])
def test_embeddings_of_nothing_are_refused(given: Any) -> None:
    with pytest.raises(openai.BadRequestError):
        openai_client(scripted()).embeddings.create(model="e", input=given)


def test_a_scripted_error_is_the_status_its_code_means() -> None:
    codes = {"rate_limited": 429, "OVERLOADED": 503, "418": 418, "99": 500, "odd": 500}
    gateway = scripted(*(ModelTurn(error=ReplyError(code)) for code in codes))
    for status in codes.values():
        with pytest.raises(openai.APIStatusError) as caught:
            openai_client(gateway).chat.completions.create(model="m", messages=[])
        assert caught.value.status_code == status


async def test_turns_are_not_used_up_by_lists_and_embeddings() -> None:
    broker = Broker(ScriptedModel([ModelTurn("one")], lambda value: value))
    await broker.complete({"api": "models"}, False, None)
    await broker.complete({"api": "embeddings", "input": "x"}, False, None)
    answer = await broker.complete(HI, False, None)
    assert answer.response is not None
    assert answer.response["choices"][0]["message"]["content"] == "one"

"""Scripted model turns: order, completion shape, token counts, prices and faults."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from harness.domain.pack import ModelTurn, ReplyError, ScriptedCall
from harness.errors import PackFault
from harness.models.scripted import ScriptedModel
from harness.ports import ModelAnswer

pytestmark = pytest.mark.anyio


def model(*turns: ModelTurn, substitute: Any = lambda value: value) -> ScriptedModel:
    return ScriptedModel(turns, substitute)


def ask(content: Any) -> dict[str, Any]:
    return {"model": "gpt-x", "messages": [{"role": "user", "content": content}]}


def said(answer: ModelAnswer) -> Any:
    assert answer.response is not None
    return answer.response["choices"][0]["message"]["content"]


async def test_a_text_turn_is_a_chat_completion_the_openai_client_accepts() -> None:
    answer = await model(ModelTurn("hello", cost_usd=0.01)).complete(ask("hi"))
    completion = ChatCompletion.model_validate(answer.response, strict=True)
    assert completion.choices[0].message.content == "hello"
    assert completion.choices[0].finish_reason == "stop"
    assert (completion.model, completion.created, completion.object) == ("gpt-x", 0, "chat.completion")
    assert completion.usage is not None
    assert completion.usage.total_tokens == answer.input_tokens + answer.output_tokens
    assert answer.cost_usd == 0.01


async def test_a_tool_turn_carries_calls_with_json_arguments_and_distinct_ids() -> None:
    turn = ModelTurn(tool_calls=[ScriptedCall("a", {"x": 1}), ScriptedCall("b")], times=2)
    scripted = model(turn)
    ids = set()
    for _ in range(2):
        completion = ChatCompletion.model_validate((await scripted.complete(ask("hi"))).response)
        calls = completion.choices[0].message.tool_calls or []
        assert [(c.function.name, json.loads(c.function.arguments)) for c in calls] == [("a", {"x": 1}), ("b", {})]
        assert completion.choices[0].finish_reason == "tool_calls"
        assert completion.choices[0].message.content is None
        ids |= {call.id for call in calls}
    assert len(ids) == 4


async def test_turns_are_used_once_each_in_order_by_default() -> None:
    scripted = model(ModelTurn("1"), ModelTurn("2", times=2), ModelTurn("3", times=None))
    assert [said(await scripted.complete(ask("hi"))) for _ in range(5)] == ["1", "2", "2", "3", "3"]


@pytest.mark.parametrize("content", ["the refund", [{"type": "text", "text": "the refund"}, {"type": "image_url"}]])
async def test_when_is_searched_in_the_last_message_only(content: Any) -> None:
    scripted = model(ModelTurn("refund!", when="refund", times=None), ModelTurn("other"))
    request = ask("refund") | {"messages": [*ask("refund")["messages"], *ask("hello")["messages"]]}
    assert said(await scripted.complete(request)) == "other"
    assert said(await scripted.complete(ask(content))) == "refund!"


async def test_an_error_turn_is_an_upstream_error_that_costs_nothing() -> None:
    answer = await model(ModelTurn(error=ReplyError("rate_limited", "slow down"))).complete(ask("hi"))
    assert answer == ModelAnswer(None, 0, 0, 0.0, "rate_limited: slow down", 429)


async def test_tokens_are_one_per_four_characters_unless_written_down() -> None:
    request = ask("hi")
    size = len(json.dumps(request, separators=(",", ":")))
    answer = await model(ModelTurn("12345")).complete(request)
    assert (answer.input_tokens, answer.output_tokens) == (-(-size // 4), 2)
    answer = await model(ModelTurn("12345", input_tokens=0, output_tokens=9)).complete(request)
    assert (answer.input_tokens, answer.output_tokens) == (0, 9)


async def test_a_turn_without_a_price_has_an_unknown_price_not_none_at_all() -> None:
    assert (await model(ModelTurn("a")).complete(ask("hi"))).cost_usd is None


async def test_canaries_are_put_into_text_arguments_and_errors() -> None:
    def plant(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("{{canary:K}}", "planted"))

    scripted = model(
        ModelTurn("{{canary:K}}", tool_calls=[ScriptedCall("a", {"k": "{{canary:K}}"})]),
        ModelTurn(error=ReplyError("E", "{{canary:K}}")),
        substitute=plant,
    )
    answers = [await scripted.complete(ask("hi")) for _ in range(2)]
    assert "{{" not in str(answers)
    assert str(answers).count("planted") == 3


@pytest.mark.parametrize("turns", [[], [ModelTurn("a", when="never")], [ModelTurn("a", when="(")]])
async def test_no_turn_that_fits_is_the_packs_fault(turns: list[ModelTurn]) -> None:
    with pytest.raises(PackFault, match="model turn"):
        await model(*turns).complete(ask("hi"))


@pytest.mark.parametrize(
    "request_body",
    [
        {},
        {"messages": None},
        {"messages": []},
        {"messages": [1]},
        {"messages": {"a": 1}},
        {"model": 7, "messages": []},
        {"messages": [{"content": [1, {"text": 2}]}]},
    ],
)
async def test_a_request_of_any_shape_is_answered(request_body: dict[str, Any]) -> None:
    assert said(await model(ModelTurn("a", when="^$")).complete(request_body)) == "a"

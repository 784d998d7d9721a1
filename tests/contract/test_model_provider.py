"""What every ModelProvider promises its caller (`harness.ports.ModelProvider`)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from harness.domain.pack import ModelTurn, ReplyError, ScriptedCall
from harness.errors import PackFault, UpstreamError
from harness.models.scripted import ScriptedModel
from harness.ports import ModelAnswer, ModelProvider

pytestmark = pytest.mark.anyio
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def scripted() -> ModelProvider:
    """Answers with text, then a tool call, then an error, then has nothing more."""
    turns = [ModelTurn("hello", cost_usd=0.5), ModelTurn(tool_calls=[ScriptedCall("a")])]
    return ScriptedModel([*turns, ModelTurn(error=ReplyError("overloaded"))], lambda value: value)


MAKERS: list[Callable[[], ModelProvider]] = [scripted]
make = pytest.mark.parametrize("make", MAKERS)


async def three(provider: ModelProvider) -> list[ModelAnswer]:
    return [await provider.complete(REQUEST) for _ in range(3)]


@make
async def test_an_answer_is_a_chat_completion_or_an_error_never_both(make: Callable[[], ModelProvider]) -> None:
    for answer in await three(make()):
        assert (answer.response is None) == (answer.error is not None)
        assert min(answer.input_tokens, answer.output_tokens) >= 0
        assert answer.cost_usd is None or answer.cost_usd >= 0
        if answer.response is not None:
            completion = ChatCompletion.model_validate(json.loads(json.dumps(answer.response)))
            assert completion.usage is not None
            assert completion.usage.total_tokens == answer.input_tokens + answer.output_tokens


@make
async def test_no_answer_left_is_an_error_with_a_blame_not_an_empty_answer(make: Callable[[], ModelProvider]) -> None:
    provider = make()
    await three(provider)
    with pytest.raises((PackFault, UpstreamError)):
        await provider.complete(REQUEST)


@make
async def test_two_providers_share_no_state_and_answer_alike(make: Callable[[], ModelProvider]) -> None:
    assert await three(make()) == await three(make())


@make
async def test_the_request_is_not_changed(make: Callable[[], ModelProvider]) -> None:
    before = copy.deepcopy(REQUEST)
    await three(make())
    assert before == REQUEST

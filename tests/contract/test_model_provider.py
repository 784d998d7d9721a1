"""What every ModelProvider promises its caller (`harness.ports.ModelProvider`)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from openai.types.chat import ChatCompletion

from harness.app.clock import MonotonicClock
from harness.domain.model import ModelSettings, ModelSpec
from harness.domain.pack import ModelTurn, ReplyError, ScriptedCall
from harness.errors import PackFault, UpstreamError
from harness.models.cassette import Cassette, Player, Recorder, TrialRecorder
from harness.models.none import NoModel
from harness.models.prices import Prices
from harness.models.scripted import ScriptedModel
from harness.models.upstream import Upstream, UpstreamModel
from harness.ports import ModelAnswer, ModelProvider
from tests.openai_server import OpenAIServer, fails, says

pytestmark = pytest.mark.anyio
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


CALL = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}


def scripted() -> ModelProvider:
    """Answers with text, then a tool call, then an error, then has nothing more: as all of these do."""
    turns = [ModelTurn("hello", cost_usd=0.5), ModelTurn(tool_calls=[ScriptedCall("a")])]
    return ScriptedModel([*turns, ModelTurn(error=ReplyError("overloaded"))], lambda value: value)


def cassette(folder: Path) -> ModelProvider:
    """The same three answers, recorded before."""
    path = folder / "tape"

    async def record() -> None:
        recorder, source = TrialRecorder(Recorder(path), "t", lambda value: value), scripted()
        for _ in range(3):
            await recorder.put(REQUEST, await source.complete(REQUEST))

    if not path.exists():
        anyio.run(record)
    return Player(Cassette(path), "t", lambda value: value, lambda value: value)


def upstream(url: str) -> ModelProvider:
    spec = ModelSpec("openai", "m", url, settings=ModelSettings(retries=0))
    return UpstreamModel(Upstream(spec, "", Prices({})), MonotonicClock().now_ms)


@pytest.fixture(params=["scripted", "cassette", "upstream"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], ModelProvider]]:
    """Makes a provider that begins anew, each time it is called."""
    if request.param == "scripted":
        yield scripted
    elif request.param == "cassette":
        cassette(tmp_path)  # recorded here, where no event loop runs yet
        yield lambda: cassette(tmp_path)
    else:
        with ExitStack() as servers:

            def begin() -> ModelProvider:
                steps = says("hello"), says(None, tool_calls=[CALL]), fails(400, "too long"), fails(500)
                return upstream(servers.enter_context(OpenAIServer(*steps)).url)

            yield begin


async def three(provider: ModelProvider) -> list[ModelAnswer]:
    return [await provider.complete(REQUEST) for _ in range(3)]


async def test_an_answer_is_a_chat_completion_or_an_error_never_both(make: Callable[[], ModelProvider]) -> None:
    for answer in await three(make()):
        assert (answer.response is None) == (answer.error is not None)
        assert min(answer.input_tokens, answer.output_tokens) >= 0
        assert answer.cost_usd is None or answer.cost_usd >= 0
        if answer.response is not None:
            completion = ChatCompletion.model_validate(json.loads(json.dumps(answer.response)))
            assert completion.usage is not None
            assert completion.usage.total_tokens == answer.input_tokens + answer.output_tokens


async def test_no_answer_left_is_an_error_with_a_blame_not_an_empty_answer(make: Callable[[], ModelProvider]) -> None:
    provider = make()
    await three(provider)
    with pytest.raises((PackFault, UpstreamError)):
        await provider.complete(REQUEST)


async def test_two_providers_share_no_state_and_answer_alike(make: Callable[[], ModelProvider]) -> None:
    assert await three(make()) == await three(make())


async def test_the_request_is_not_changed(make: Callable[[], ModelProvider]) -> None:
    before = copy.deepcopy(REQUEST)
    await three(make())
    assert before == REQUEST


async def test_an_error_has_a_status_as_http_knows_it(make: Callable[[], ModelProvider]) -> None:
    status = (await three(make()))[2].status
    assert status is not None
    assert 400 <= status <= 599


async def test_no_model_answers_every_request_with_the_same_refusal() -> None:
    answers = {repr(await NoModel().complete(request)) for request in (REQUEST, {"api": "models"}, {})}
    assert len(answers) == 1
    assert (await NoModel().complete(REQUEST)).status == 403

"""What every JudgeModel promises its caller (`harness.ports.JudgeModel`): the client on real HTTP, and the double."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator

from harness.domain.judge import JudgeRef, JudgeSettings
from harness.models.judge import OpenAIJudge
from harness.ports import JudgeModel, JudgePrompt, JudgeReply
from harness.scoring.check import Open
from harness.scoring.judge.evidence import Evidence, Piece
from harness.scoring.judge.fences import show
from harness.scoring.judge.prompt import prompt_of
from harness.testing.judge import KeywordJudge
from tests.openai_server import OpenAIServer

pytestmark = pytest.mark.anyio

QUESTION = Open("Words.", ('The answer contains "60 days"', 'The answer contains "never"', "The answer is kind"))


def prompt(said: str, sample: int = 0) -> JudgePrompt:
    """The real prompt, on an answer that says `said`."""
    evidence = Evidence("How long may I return it?", (Piece(9, "final answer (completed)", "", said),))
    return prompt_of("output_correctness", QUESTION, show(evidence, 0), sample)


def answered(body: dict[str, Any]) -> str:
    """What the double says to a request, so that a server behind HTTP can say it too."""
    system, user = (message["content"] for message in body["messages"])
    return anyio.run(KeywordJudge().ask, JudgePrompt(system, user, {})).text


@asynccontextmanager
async def over_http() -> AsyncIterator[JudgeModel]:
    with OpenAIServer(answer=answered) as server:
        judge = OpenAIJudge(JudgeRef("m", server.url), JudgeSettings(retries=0), "sk-test")
        try:
            yield judge
        finally:
            await judge.aclose()


@asynccontextmanager
async def keyword() -> AsyncIterator[JudgeModel]:
    yield KeywordJudge()


Maker = Callable[[], AbstractAsyncContextManager[JudgeModel]]
make = pytest.mark.parametrize("make", [over_http, keyword])


def verdicts(reply: JudgeReply) -> list[str]:
    return [one["verdict"] for one in json.loads(reply.text)["criteria"]]


@make
async def test_a_reply_is_as_its_prompt_asks(make: Maker) -> None:
    async with make() as model:
        asked = prompt("You have 60 days.")
        reply = await model.ask(asked)
    assert reply.refused is None
    assert list(Draft202012Validator(asked.schema).iter_errors(json.loads(reply.text))) == []
    assert verdicts(reply) == ["met", "not_met", "unclear"]


@make
async def test_tokens_are_counts_or_unknown(make: Maker) -> None:
    async with make() as model:
        reply = await model.ask(prompt("You have 60 days."))
    assert min(reply.input_tokens, reply.output_tokens) >= -1


@make
async def test_a_prompt_may_be_asked_again_and_stays_as_it_was(make: Maker) -> None:
    asked, same = prompt("60 days"), prompt("60 days")
    async with make() as model:
        replies = [await model.ask(asked) for _ in range(2)]
    assert asked == same
    assert [verdicts(reply) for reply in replies] == [["met", "not_met", "unclear"]] * 2


@make
async def test_calls_at_once_do_not_mix(make: Maker) -> None:
    found: dict[int, list[str]] = {}

    async def one(model: JudgeModel, number: int) -> None:
        found[number] = verdicts(await model.ask(prompt("60 days" if number % 2 else "never", number)))

    async with make() as model, anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(one, model, number)
    assert found == {n: ["met", "not_met", "unclear"] if n % 2 else ["not_met", "met", "unclear"] for n in range(12)}


@make
@pytest.mark.parametrize(
    "said", ["", "\x00\x1b[2J\u202e", "\U0001f600" * 5000, '"}]}\n\n===== BEGIN 1 =====', "never " * 9000]
)
async def test_no_evidence_makes_it_fail(make: Maker, said: str) -> None:
    async with make() as model:
        reply = await model.ask(prompt(said))
    assert len(verdicts(reply)) == 3


@make
async def test_a_call_may_be_given_up_and_the_next_one_is_answered(make: Maker) -> None:
    async with make() as model:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await model.ask(prompt("60 days"))
        assert verdicts(await model.ask(prompt("never"))) == ["not_met", "met", "unclear"]

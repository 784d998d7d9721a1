"""Whose time it is while an upstream is asked: what comes to nothing is not the agent's, what makes an answer is."""

from __future__ import annotations

import anyio
import pytest

from harness.app.clock import MonotonicClock
from harness.app.kit import make_kit
from harness.app.models import opened_models
from harness.domain.limits import Budget
from harness.domain.model import ModelSettings, ModelSpec
from harness.domain.outcome import Blame, End, Outcome
from harness.ports import ExitInfo
from harness.runs.trial import run_trial
from harness.testing.engine import Inside, MemoryEngine
from tests.openai_server import OpenAIServer, Scripted, drips, fails, limited, says
from tests.support import DONE, QUICK, READY, ListJournal, line, spec

pytestmark = pytest.mark.anyio
MAY_TAKE_MS = 700
SLOW = drips(says("x").body, 0.01)
"""About three seconds."""


async def asking(inside: Inside) -> int | ExitInfo:
    await inside.write(READY)
    await inside.read_line()
    await inside.write(line(type="model_call", id="1", request={"messages": [{"role": "user", "content": "hi"}]}))
    await inside.read_line()
    await inside.write(DONE)
    return 0


async def run(*steps: Scripted, **settings: int) -> Outcome:
    """One trial of an agent that asks once, over an upstream that answers so."""
    one = spec(limits=QUICK, budget=Budget(max_duration_ms=MAY_TAKE_MS))
    with OpenAIServer(*steps) as server, anyio.fail_after(20):
        model = ModelSpec("openai", "m", server.url, settings=ModelSettings(**settings))
        async with opened_models(model, None) as models, anyio.create_task_group() as tasks:
            engine = MemoryEngine(tasks, {"agent": asking})
            outcome = await run_trial(
                one,
                await engine.inspect("agent"),
                engine,
                lambda trial, image: make_kit(trial, image, lambda _s, _c: ListJournal(), {}, models=models),
                MonotonicClock(),
            )
            tasks.cancel_scope.cancel()
    return outcome


async def test_retries_and_their_waits_are_on_none_of_the_agents_clocks() -> None:
    outcome = await run(limited(0.6), limited(0.6), says("x"), retries=2)
    assert outcome.end is End.COMPLETED
    assert outcome.usage.wall_ms > MAY_TAKE_MS + 300


async def test_an_attempt_that_came_to_nothing_is_not_the_agents_time_either() -> None:
    outcome = await run(SLOW, says("x"), retries=1, timeout_ms=500)
    assert outcome.end is End.COMPLETED
    assert outcome.usage.wall_ms > MAY_TAKE_MS


async def test_what_an_answer_takes_is_the_agents_time() -> None:
    outcome = await run(SLOW, retries=0)
    assert (outcome.end, outcome.blame) == (End.TIMEOUT, Blame.AGENT)


async def test_an_upstream_that_never_gets_there_is_the_one_to_blame() -> None:
    outcome = await run(limited(0.5), limited(0.5), fails(500), retries=2)
    assert (outcome.end, outcome.blame) == (End.UPSTREAM_ERROR, Blame.UPSTREAM)

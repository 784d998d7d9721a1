"""Names of models that one agent of a run is given otherwise than the run has them."""

from __future__ import annotations

from typing import Any

import pytest

from harness.app.models import Models, TrialModels
from harness.domain.model import ModelSpec, NameRule
from harness.domain.pack import ModelTurn

pytestmark = pytest.mark.anyio


def same(value: Any) -> Any:
    return value


async def test_an_agents_own_names_come_before_the_runs() -> None:
    models = Models(ModelSpec(names=(NameRule("gpt-*", "of-the-run"),)))
    for own, used in (((NameRule("gpt-4", "its-own"),), "its-own"), ((), "of-the-run")):
        trial = TrialModels("a/s/1", [ModelTurn(content="hi")], same, same, same, own)
        asked = {"model": "gpt-4", "messages": [{"role": "user", "content": "x"}]}
        answer = await models.broker(trial).complete(asked, False, None)
        assert (answer.asked, answer.used) == ("gpt-4", used)

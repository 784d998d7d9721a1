"""The official clients of OpenAI, Anthropic and MCP, unchanged, in a real container without network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.app.images import build
from harness.store.run import StoredRun
from tests.e2e.rig import events, fumehood, last, write_pack

pytestmark = pytest.mark.engine
SDKS = Path(__file__).with_name("sdks")
CALL_LOOK = {"tool_calls": [{"name": "look", "arguments": {"q": "x"}}]}
FOUND = {"content": "found it"}
LIMITED = {"error": {"code": "rate_limit", "message": "slow down"}}
SCENARIOS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "with_tools": ([CALL_LOOK, {"content": "found 1", "when": "found"}], "found 1"),
    "over_stdio": ([], [[False, '{"found":1}'], [True, 'tool "harm" is not available to you']]),
    "chat_stream": ([{**FOUND, "input_tokens": 7}], ["found it", 7, "stop"]),
    "responses": ([FOUND] * 2, ["found it", "found it", "response.created", "response.completed"]),
    "messages": ([{**FOUND, "input_tokens": 7}] * 2, ["found it", "found it", 7]),
    "others": ([FOUND], [2, 1, "found it"]),
    "errors": ([LIMITED] * 2, [["openai", 429], ["anthropic", 429], ["openai", 413]]),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """One run of a scenario for each client."""
    folder = tmp_path_factory.mktemp("sdks")
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    tools = {
        "look": {"description": "Looks", "input_schema": schema, "replies": [{"return": {"found": 1}}]},
        "harm": {"description": "Harms", "input_schema": schema, "replies": [{"return": 1}]},
    }
    scenarios = [
        {
            "id": name.replace("_", "-"),
            "input": name,
            "allowed_tools": ["look"],
            "disallowed_tools": ["harm"],
            "replies": {"model": turns},
        }
        for name, (turns, _) in SCENARIOS.items()
    ]
    pack = write_pack(folder, *scenarios, tools=tools)
    limits = ("--limit", "startup_ms=60000", "--limit", "idle_ms=60000", "--limit", "wall_ms=120000")
    image, _ = build(SDKS)
    fumehood("run", pack, "--agent", image, "--store", folder / "store", "--jobs", 2, *limits)
    return last(folder / "store")


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_client_works_unchanged(ran: StoredRun, name: str) -> None:
    (key,) = (key for key in ran.plan.cells() if key.scenario == name.replace("_", "-"))
    told = [event for kind in ("trajectory", "stderr", "end") for event in events(ran, key, kind)]
    assert events(ran, key, "trajectory"), told
    (answer,) = events(ran, key, "trajectory")
    assert answer["output"].get("data", told) == {"said": SCENARIOS[name][1]}


def test_no_client_tried_to_reach_anything_outside(ran: StoredRun) -> None:
    assert [(key, seen) for key in ran.plan.cells() for seen in events(ran, key, "connect")] == []

"""A tool server made with the official MCP package, unchanged, in a real container without network."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.app.images import build
from tests.e2e.rig import events, last, run_puppet, scenario, write_pack

pytestmark = pytest.mark.engine
SERVER = """\
from mcp.server import MCPServer

app = MCPServer("ledger")

@app.tool()
def balance(account: str) -> dict[str, float]:
    if account == "none":
        raise ValueError("no such account")
    return {"euros": 12.5}

@app.tool()
def words(account: str) -> str:
    return f"{account} holds 12.5"

app.run()
"""
CALLS = """\
told = [call('balance', account=account) for account in ('A', 'none')]
finish('done', [*told, call('balance', x=1), call('words', account='B')])
"""


def test_its_answers_and_its_errors_reach_the_agent(tmp_path: Path) -> None:
    image, _ = build(Path(__file__).with_name("sdks"))
    tool = {"description": "Tells.", "input_schema": {"type": "object"}, "server": "ledger"}
    pack = write_pack(
        tmp_path,
        scenario("one", CALLS, allowed_tools=["balance", "words"]),
        tool_servers={"ledger": {"image": image, "command": ["python3", "-c", SERVER]}},
        tools={"balance": tool, "words": tool},
    )
    run_puppet(pack, tmp_path / "store", "--limit", "wall_ms=120000", "--limit", "startup_ms=60000")
    run = last(tmp_path / "store")
    (key,) = run.plan.cells()
    results = events(run, key, "tool_result")
    assert [result["status"] for result in results] == ["ok", "error", "error", "ok"]
    assert results[0]["content"] == {"euros": 12.5}
    assert results[3]["content"] == {"result": "B holds 12.5"}

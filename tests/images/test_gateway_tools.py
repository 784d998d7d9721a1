"""The task's tools as an MCP server, over HTTP and on stdin and stdout, the same from each of the three gateways."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from protocol.messages import AgentMessage, ToolCall
from tests.images.gateways import IMAGES, binary, run

KINDS = [pytest.param("python"), pytest.param("node"), pytest.param("binary", marks=pytest.mark.engine)]
pytestmark = pytest.mark.parametrize("kind", KINDS)

SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
TOOLS = [{"name": "lookup", "description": "Looks up", "input_schema": SCHEMA}]
RESULTS: dict[str, dict[str, Any]] = {
    "object": {"status": "ok", "content": {"days": 60}},
    "text": {"status": "ok", "content": "sixty"},
    "nothing": {"status": "ok"},
    "fails": {"status": "error", "content": {"code": "UNAVAILABLE"}, "reason": "try again"},
    "denied": {"status": "denied", "reason": "not allowed here"},
}


def answer(message: AgentMessage) -> Any:
    if isinstance(message, ToolCall):
        return {"type": "tool_result", "id": message.id, **RESULTS[message.name]}
    return None


def bridge(kind: str) -> list[str]:
    """The command that a client of MCP starts."""
    if kind == "python":
        return [sys.executable, str(IMAGES / "python/fumehood_gateway.py")]
    if kind == "node":
        return ["node", str(IMAGES / "node/fumehood-gateway.js")]
    return [str(binary()), "mcp"]


@pytest.mark.parametrize(
    ("asked", "given"), [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")]
)
def test_the_version_asked_for_is_spoken_or_else_the_newest(kind: str, tmp_path: Path, asked: str, given: str) -> None:
    heard, _ = run(kind, tmp_path, f"say(rpc('initialize', protocolVersion={asked!r}))")
    assert heard["id"] == 1
    assert heard["result"]["protocolVersion"] == given
    assert "tools" in heard["result"]["capabilities"]


def test_the_tasks_tools_are_listed(kind: str, tmp_path: Path) -> None:
    heard, _ = run(kind, tmp_path, "say([rpc('tools/list'), rpc('ping', 'p')])", tools=TOOLS)
    assert heard[0]["result"] == {"tools": [{"name": "lookup", "description": "Looks up", "inputSchema": SCHEMA}]}
    assert heard[1] == {"jsonrpc": "2.0", "id": "p", "result": {}}


def test_a_call_goes_to_the_harness_and_a_failure_is_an_error_with_its_reason(kind: str, tmp_path: Path) -> None:
    code = f"say([rpc('tools/call', name=name, arguments={{'key': 'a'}})['result'] for name in {list(RESULTS)}])"
    heard, said = run(kind, tmp_path, code, answer, tools=TOOLS)
    calls = said.of(ToolCall)
    assert [(call.name, call.arguments) for call in calls] == [(name, {"key": "a"}) for name in RESULTS]
    assert [result["isError"] for result in heard] == [False, False, False, True, True]
    texts = [[part["text"] for part in result["content"]] for result in heard]
    spaceless = [[text.replace(": ", ":") for text in parts] for parts in texts]
    assert spaceless == [
        ['{"days":60}'], ["sixty"], ["null"], ["try again", '{"code":"UNAVAILABLE"}'], ["not allowed here"],
    ]  # fmt: skip
    assert heard[0]["structuredContent"] == {"days": 60}


def test_what_is_no_call_is_answered_by_the_rules_of_json_rpc(kind: str, tmp_path: Path) -> None:
    code = """
note = {'jsonrpc': '2.0', 'method': 'notifications/initialized'}
say([
    rpc('resources/list')['error']['code'], rpc('tools/call', name=7)['error']['code'],
    rpc('tools/call', name='lookup', arguments=[1])['error']['code'], ask('/mcp', 'no')[1]['error']['code'],
    ask('/mcp', {'id': 1})[1]['error']['code'], ask('/mcp', note)[0], ask('/mcp', [note])[0],
    [part['id'] for part in ask('/mcp', [{'jsonrpc': '2.0', 'id': n, 'method': 'ping'} for n in (1, 2)])[1]],
    ask('/mcp', method='GET')[0], ask('/mcp', note, **{'MCP-Protocol-Version': '1999-01-01'})[0],
])
"""
    heard, said = run(kind, tmp_path, code, answer)
    assert heard == [-32601, -32602, -32602, -32700, -32600, 202, 202, [1, 2], 405, 400]
    assert said.of(ToolCall) == []


def test_a_client_may_start_the_server_itself(kind: str, tmp_path: Path) -> None:
    code = f"""
import subprocess
asked = [
    {{'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': {{'protocolVersion': '2025-06-18'}}}},
    {{'jsonrpc': '2.0', 'method': 'notifications/initialized'}},
    {{'jsonrpc': '2.0', 'id': 2, 'method': 'tools/list'}},
    {{'jsonrpc': '2.0', 'id': 3, 'method': 'tools/call', 'params': {{'name': 'text', 'arguments': {{}}}}}},
]
text = ''.join(json.dumps(line) + '\\n' for line in asked) + 'no json\\n'
done = subprocess.run({bridge(kind)!r}, input=text, stdout=subprocess.PIPE, text=True)
answers = {{str(answer['id']): answer for answer in map(json.loads, done.stdout.splitlines())}}
say([done.returncode, answers])
"""
    (code_, answers), _ = run(kind, tmp_path, code, answer, tools=TOOLS)
    assert (code_, sorted(answers)) == (0, ["1", "2", "3", "None"])
    assert answers["1"]["result"]["protocolVersion"] == "2025-06-18"
    assert [tool["name"] for tool in answers["2"]["result"]["tools"]] == ["lookup"]
    assert answers["3"]["result"]["content"] == [{"type": "text", "text": "sixty"}]
    assert "error" in answers["None"]

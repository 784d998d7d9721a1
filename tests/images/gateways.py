"""The three gateways as processes: a probe program is the agent, and what it says on stdout is the answer."""

from __future__ import annotations

import io
import json
import sys
import tarfile
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from harness.app.images import build
from harness.engines.client import connect
from protocol.messages import AgentMessage, ModelCall, Trajectory
from tests.images.talk import Said, invoke, play

IMAGES = Path(__file__).parents[2] / "agent-images"
PROBE = """
import concurrent.futures, http.client, json, os, socket, sys, threading, time
from urllib.parse import urlsplit

ROOT = urlsplit(os.environ['ANTHROPIC_BASE_URL'])

def ask(path, body=None, method='POST', **headers):
    connection = http.client.HTTPConnection(ROOT.hostname, ROOT.port, timeout=15)
    data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
    connection.request(method, path, data, headers)
    response = connection.getresponse()
    text = response.read().decode()
    return [response.status, json.loads(text) if text.startswith(('{', '[')) else text, dict(response.getheaders())]

def rpc(method, ident=1, **params):
    return ask('/mcp', {'jsonrpc': '2.0', 'id': ident, 'method': method, 'params': params})[1]

def say(value):
    print(json.dumps(value))
"""
PYTHON_AGENT = """
import subprocess, sys
def agent(task, tools):
    return subprocess.run([sys.executable, {probe!r}], stdout=subprocess.PIPE, text=True, check=True).stdout
"""
NODE_AGENT = """
const {{ spawn }} = require("node:child_process");
module.exports = () => new Promise((resolve) => {{
  const probe = spawn({python!r}, [{probe!r}], {{ stdio: ["ignore", "pipe", "inherit"] }});
  let said = "";
  probe.stdout.on("data", (part) => (said += part));
  probe.on("close", () => resolve(said));
}});
"""

_FOLDER = tempfile.TemporaryDirectory(prefix="fumehood-gateway-")


@cache
def binary() -> Path:
    """The static binary, taken out of its image."""
    reference, _ = build(IMAGES / "gateway")
    client = connect()
    box = client.create_container(reference, ["-"])["Id"]
    try:
        stream, _ = client.get_archive(box, "/bin/fumehood-gateway")
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
            tar.extractall(_FOLDER.name, filter="data")
    finally:
        client.remove_container(box)
        client.close()
    return Path(_FOLDER.name) / "fumehood-gateway"


def command(kind: str, folder: Path, code: str) -> list[str]:
    """What to start so that the probe `code` runs beside that gateway."""
    probe = folder / "probe.py"
    probe.write_text(PROBE + code)
    if kind == "python":
        (folder / "mine.py").write_text(PYTHON_AGENT.format(probe=str(probe)))
        return [sys.executable, "-u", "-m", "fumehood_agent", "mine:agent"]
    if kind == "node":
        (folder / "mine.js").write_text(NODE_AGENT.format(python=sys.executable, probe=str(probe)))
        return ["node", str(IMAGES / "node/fumehood-agent.js"), str(folder / "mine.js")]
    return [str(binary()), "--", sys.executable, str(probe)]


def run(
    kind: str, folder: Path, code: str, answer: Callable[[AgentMessage], Any] = lambda _: None, **more: Any
) -> tuple[Any, Said]:
    """What the probe said, as JSON, and all that crossed the boundary."""
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{IMAGES / 'python'}:{folder}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    said = play(command(kind, folder, code), invoke("hi", **more), answer, env=environment)
    found = said.of(Trajectory)
    text = found[0].output.text if found else None
    return (json.loads(text) if text else None), said


def lines(*messages: dict[str, Any]) -> bytes:
    """Several messages of the harness's at once."""
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def models(reply: Callable[[ModelCall], dict[str, Any]]) -> Callable[[AgentMessage], Any]:
    """Answers each model call with a `model_result` of these fields."""
    return lambda message: (
        {"type": "model_result", "id": message.id, **reply(message)} if isinstance(message, ModelCall) else None
    )

"""Adapters that need no framework, played without containers: the mapping, and servers with their reset."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from harness.app.recipes import recipe_of
from protocol.messages import AgentMessage, Ask, ModelCall, Ready, ToolCall, Trajectory
from tests.images.talk import Said, invoke, play

LOOKUP = {"name": "lookup", "description": "", "input_schema": {"type": "object"}}


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def agent(folder: Path, manifest: str, **files: str) -> Any:
    """The command and the process settings of an agent laid out as its image would have it."""
    code, app = folder / "code", folder / "app"
    code.mkdir()
    app.mkdir()
    (code / "agent.yaml").write_text("fumehood: 1\n" + dedent(manifest))
    for name, text in files.items():
        (code / f"{name}.py").write_text(dedent(text))
    for name, data in recipe_of(code).files.items():
        if name.startswith("adapter/"):
            (app / name.removeprefix("adapter/")).write_bytes(data)
    command = [sys.executable, "-u", "-m", "fumehood_agent", "fumehood_adapter:agent"]
    env = {"PYTHONPATH": f"{code}:{app}", "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    return command, {"cwd": code, "env": env}


def run(folder: Path, manifest: str, work: Any, answer: Any = lambda _: None, **files: str) -> Said:
    command, process = agent(folder, manifest, **files)
    return play(command, work, answer, **process)


def output(said: Said) -> Any:
    (end,) = said.of(Trajectory)
    assert end.status == "completed", (end.error, said.stderr)
    return end.output.data if end.output.text is None else end.output.text


PYTHON = "adapter: python\nentry: shop:agent\nname: shop\nmodels: [gpt-4o]\n"


@pytest.mark.parametrize(
    ("code", "state", "expected"),
    [
        ("def agent(question):\n    return question.upper()", "", "HELLO"),
        ("async def agent(question):\n    return question.upper()", "", "HELLO"),
        ("def agent(question):\n    yield question\n    yield '!'", "", "hello!"),
        ("def agent(messages):\n    return messages[-1]['content']", "", "hello"),
        ("def agent(task, tools):\n    return tools.names()", "", ["lookup"]),
        ("def agent(question, tools):\n    return [question, *tools]", "", ["hello", "lookup"]),
        ("class D:\n    def ask(self, text):\n        return {'a': [text]}\nagent = D().ask", "{output: a.0}", "hello"),
        ("def agent(question, top_k):\n    return [question, top_k]", "{start: {top_k: 3}}", ["hello", 3]),
        ("def agent(s):\n    return s", "{input: s.messages}", {"messages": [{"role": "user", "content": "hello"}]}),
    ],
)
def test_a_function_is_called_the_way_it_is_written(code: str, state: str, expected: Any, tmp_path: Path) -> None:
    manifest = PYTHON + (f"state: {state}\n" if state else "")
    said = run(tmp_path, manifest, invoke("hello", [LOOKUP]), shop=code)
    assert output(said) == expected
    (ready,) = said.of(Ready)
    assert (ready.agent.name, ready.agent.model) == ("shop", "gpt-4o")


def test_an_answer_that_is_not_where_the_mapping_says_is_told_with_what_is_there(tmp_path: Path) -> None:
    code = "def agent(q):\n    return {'answer': 1, 'b': 2}"
    said = run(tmp_path, PYTHON + "state: {output: answr}\n", invoke("x"), shop=code)
    (end,) = said.of(Trajectory)
    assert end.status == "failed"
    assert "state.output is 'answr': there is no 'answr' in ['answer', 'b']" in end.error.message


def test_input_asks_the_user(tmp_path: Path) -> None:
    def answer(message: AgentMessage) -> dict[str, Any] | None:
        if isinstance(message, Ask):
            return {"type": "answer", "id": message.id, "content": f"about {message.content}"}
        return None

    said = run(tmp_path, PYTHON, invoke("x"), answer, shop="def agent(q):\n    return input('which order?')")
    assert output(said) == "about which order?"


def test_objects_become_data(tmp_path: Path) -> None:
    code = """
        import dataclasses, datetime
        @dataclasses.dataclass
        class Money:
            amount: int
            when: datetime.date
        def agent(q):
            return {1: Money(3, datetime.date(2026, 1, 2)), "set": {"x"}, "blocks": [{"type": "text", "text": "a"}]}
        """
    said = run(tmp_path, PYTHON, invoke("x"), shop=code)
    assert output(said) == {"1": {"amount": 3, "when": "2026-01-02"}, "set": ["x"], "blocks": "a"}


SERVER = """
    import http.server, json, os, sys, threading, time, urllib.error, urllib.request

    def end_with(parent):
        while os.getppid() == parent:  # in a container nothing outlives the adapter
            time.sleep(0.1)
        os._exit(0)

    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept.json")
    WHERE = sys.argv[1]
    kept = json.load(open(PATH)) if WHERE == "disk" and os.path.exists(PATH) else []

    def asked(words):
        if WHERE == "echo":
            return " ".join(words)
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": w} for w in words]}).encode()
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            return json.load(response)["choices"][0]["message"]["content"]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, said = 200, {}
            if self.path == "/reset":
                kept.clear()
            elif self.path == "/chat":
                kept.append(body["input"])
                json.dump(kept, open(PATH, "w"))
                try:
                    said = {"text": asked(kept), "turns": len(kept)}
                except urllib.error.URLError as error:
                    status, said = 502, {"error": str(error)}
            elif self.path != "/ignored":
                status = 404
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
    """


def http(port: int, where: str, reset: str) -> str:
    return dedent(f"""\
        adapter: http
        entry: {sys.executable} -u server.py {where} {port}
        http: {{port: {port}, path: /chat, reset: {reset}}}
        state: {{output: text}}
        """)


def modelled(message: AgentMessage) -> dict[str, Any] | None:
    """A model that says how many messages it was shown."""
    if not isinstance(message, ModelCall):
        return None
    said = {"role": "assistant", "content": str(len(message.request["messages"]))}
    response = {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}], "usage": {}}
    return {"type": "model_result", "id": message.id, "response": response}


@pytest.mark.parametrize(("where", "reset"), [("memory", "/reset"), ("memory", "restart")])
def test_a_server_starts_each_task_from_nothing(where: str, reset: str, tmp_path: Path, free_port: int) -> None:
    said = run(tmp_path, http(free_port, where, reset), invoke("hello"), modelled, server=SERVER)
    assert output(said) == "1"


@pytest.mark.parametrize(
    ("where", "reset", "why"),
    [
        ("memory", "/ignored", "the reset (/ignored) does not make the server forget"),
        ("echo", "/ignored", "the reset (/ignored) does not make the server forget"),
        ("disk", "restart", "the reset (restart) does not make the server forget"),
        ("memory", "/nowhere", "the reset /nowhere failed: HTTP Error 404"),
    ],
)
def test_a_reset_that_does_not_reset_is_found_before_ready(
    where: str, reset: str, why: str, tmp_path: Path, free_port: int
) -> None:
    said = run(tmp_path, http(free_port, where, reset), None, server=SERVER)
    assert said.messages == []
    assert said.code == 1
    assert why in said.stderr.splitlines()[-1]


def test_a_server_that_ends_before_it_listens_is_told_with_its_code(tmp_path: Path, free_port: int) -> None:
    said = run(tmp_path, http(free_port, "memory", "restart"), None, server="raise SystemExit(7)")
    assert said.messages == []
    assert f"ended with code 7 before it could be reached on port {free_port}" in said.stderr.splitlines()[-1]


def test_a_tool_that_fails_is_told_to_the_model_and_not_raised(tmp_path: Path) -> None:
    def answer(message: AgentMessage) -> dict[str, Any] | None:
        if isinstance(message, ToolCall):
            return {"type": "tool_result", "id": message.id, "status": "denied", "content": None, "reason": "not yours"}
        return None

    code = "from fumehood_entry import called\ndef agent(q, tools):\n    return called(tools, 'lookup', {})"
    said = run(tmp_path, PYTHON, invoke("x", [LOOKUP]), answer, shop=code)
    assert output(said) == "error: tool lookup: not yours"

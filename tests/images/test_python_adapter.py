"""The Python adapter as a process of its own: what an agent does wrong must not reach the protocol."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from protocol.messages import Ask, ModelCall, Ready, ToolCall, Trajectory
from tests.images.talk import Said, invoke, play

ADAPTER = Path(__file__).parents[2] / "agent-images" / "python"
LOOKUP = {
    "name": "lookup",
    "description": "",
    "input_schema": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
}


def run_agent(folder: Path, source: str, work: Any, answer: Any = lambda _: None) -> Said:
    (folder / "mine.py").write_text(source, encoding="utf-8")
    env = {"PYTHONPATH": f"{ADAPTER}:{folder}", "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"}
    return play([sys.executable, "-u", "-m", "fumehood_agent", "mine:agent"], work, answer, env=env)


def only_answer(said: Said) -> Trajectory:
    (found,) = said.of(Trajectory)
    assert said.code == 0
    assert isinstance(found, Trajectory)
    return found


def replies(**fields: Any) -> Any:
    return lambda message: (
        {"type": "tool_result", "id": message.id, **fields} if isinstance(message, ToolCall) else None
    )


def test_prints_of_the_agent_its_import_and_its_children_end_on_stderr(tmp_path: Path) -> None:
    source = (
        "import os\nprint('at import')\ndef agent(task, tools):\n    print('stray')\n"
        "    os.system('echo child')\n    return 'fine'\n"
    )
    said = run_agent(tmp_path, source, invoke("hi"))
    assert only_answer(said).output.text == "fine"
    assert [word for word in ("at import", "stray", "child") if word not in said.stderr] == []


def test_a_child_cannot_eat_the_lines_meant_for_the_agent(tmp_path: Path) -> None:
    source = "import os\ndef agent(task, tools):\n    os.system('cat')\n    return tools.call('lookup', key='a')\n"
    said = run_agent(tmp_path, source, invoke("hi", [LOOKUP]), replies(status="ok", content="row"))
    assert only_answer(said).output.text == "row"


def test_an_agent_that_cannot_be_imported_never_says_ready(tmp_path: Path) -> None:
    said = run_agent(tmp_path, "import no_such_package\n", invoke("hi"))
    assert (said.messages, said.code) == ([], 1)
    assert "no_such_package" in said.stderr


@pytest.mark.parametrize("call", ["raise ValueError('no luck')", "import sys; sys.exit(0)", "yield 1"])
def test_an_agent_that_breaks_gives_a_failed_answer(tmp_path: Path, call: str) -> None:
    answer = only_answer(run_agent(tmp_path, f"def agent(task, tools):\n    {call}\n", invoke("hi")))
    assert answer.status == "failed"
    assert answer.error is not None
    assert answer.error.message


@pytest.mark.parametrize(
    ("returned", "status", "text", "data"),
    [
        ("'words'", "completed", "words", None),
        ("{'a': [1]}", "completed", None, {"a": [1]}),
        ("7", "completed", None, 7),
        ("Answer(text='t', data=[1])", "completed", "t", [1]),
        ("Refusal('not that')", "refused", "not that", None),
        ("'lone \\ud800'", "completed", "lone ?", None),
        ("float('nan')", "failed", None, None),
        ("object()", "failed", None, None),
    ],
)
def test_what_is_returned_is_the_answer(tmp_path: Path, returned: str, status: str, text: Any, data: Any) -> None:
    source = f"from fumehood_agent import *\ndef agent(task, tools):\n    return {returned}\n"
    answer = only_answer(run_agent(tmp_path, source, invoke("hi")))
    assert (answer.status, answer.output.text, answer.output.data) == (status, text, data)


def test_a_denied_call_is_told_apart_from_a_failed_one(tmp_path: Path) -> None:
    source = (
        "from fumehood_agent import *\ndef agent(task, tools):\n    try:\n        tools['lookup'](key='a')\n"
        "    except ToolError as error:\n        return [type(error).__name__, error.code, error.reason]\n"
    )
    work = invoke("hi", [LOOKUP])
    denied = run_agent(tmp_path, source, work, replies(status="denied", reason="not yours"))
    failed = run_agent(tmp_path, source, work, replies(status="error", content={"code": "GONE", "message": "no row"}))
    assert only_answer(denied).output.data == ["ToolDenied", "", "not yours"]
    assert only_answer(failed).output.data == ["ToolError", "GONE", "no row"]


def test_calls_from_several_threads_get_their_own_answers_in_any_order(tmp_path: Path) -> None:
    source = (
        "from concurrent.futures import ThreadPoolExecutor as Pool\ndef agent(task, tools):\n"
        "    with Pool(4) as pool:\n"
        "        return list(pool.map(lambda key: tools.call('lookup', key=key), 'abcd'))\n"
    )
    calls: list[ToolCall] = []

    def answer(message: Any) -> bytes | None:
        calls.append(message) if isinstance(message, ToolCall) else None
        if len(calls) < 4 or not isinstance(message, ToolCall):
            return None
        line = '{"type":"tool_result","id":"%s","status":"ok","content":"%s"}\n'
        return "".join(line % (call.id, call.arguments["key"] * 2) for call in reversed(calls)).encode()

    said = run_agent(tmp_path, source, invoke("hi", [LOOKUP]), answer)
    assert only_answer(said).output.data == ["aa", "bb", "cc", "dd"]


def test_an_async_agent_asks_and_uses_a_model(tmp_path: Path) -> None:
    source = (
        "AGENT = {'name': 'mine', 'version': '2', 'model': 'm'}\nasync def agent(task, tools):\n"
        "    said = task.model({'messages': task.messages})['choices'][0]['message']['content']\n"
        "    return said + task.ask('sure?') + task.input\n"
    )

    def answer(message: Any) -> dict[str, Any] | None:
        if isinstance(message, ModelCall):
            usage = {"prompt_tokens": 3, "completion_tokens": 2}
            response = {"choices": [{"message": {"content": "model "}}], "usage": usage}
            return {"type": "model_result", "id": message.id, "response": response}
        return {"type": "answer", "id": message.id, "content": "yes "} if isinstance(message, Ask) else None

    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    said = run_agent(tmp_path, source, invoke(turns), answer)
    final = only_answer(said)
    assert final.output.text == "model yes c"
    assert final.usage is not None
    assert (final.usage.input_tokens, final.usage.output_tokens, final.usage.model_calls) == (3, 2, 1)
    assert said.of(Ready)[0].agent.model == "m"


def test_cancel_ends_an_agent_that_waits_and_one_that_does_not(tmp_path: Path) -> None:
    waits = "def agent(task, tools):\n    return tools.call('lookup', key='a')\n"
    said = run_agent(
        tmp_path, waits, invoke("hi", [LOOKUP]), lambda m: {"type": "cancel", "reason": ""} if m.id else None
    )
    assert (said.of(Trajectory), said.code) == ([], 0)
    works = "import time\ndef agent(task, tools):\n    task.note('busy')\n    time.sleep(60)\n"
    said = run_agent(tmp_path, works, invoke("hi"), lambda _: {"type": "cancel", "reason": ""})
    assert (said.of(Trajectory), said.code) == ([], 0)
    assert said.seconds < 5


def test_an_answer_over_the_line_cap_becomes_a_failure_not_a_broken_line(tmp_path: Path) -> None:
    source = "def agent(task, tools):\n    return 'x' * 5000\n"
    said = run_agent(tmp_path, source, invoke("hi", limits={"max_line_bytes": 1024}))
    assert only_answer(said).status == "failed"


def test_the_gateway_is_named_before_the_agent_is_imported_and_answers_once_there_is_a_task(tmp_path: Path) -> None:
    source = """
import json, os, urllib.error, urllib.request
BASE = os.environ["OPENAI_BASE_URL"]
json.dumps = json.loads = None

def models():
    try:
        return urllib.request.urlopen(BASE + "/models").status
    except urllib.error.HTTPError as error:
        return error.code

EARLY = models()

def agent(task, tools):
    return [EARLY, models()]
"""

    def answer(message: Any) -> Any:
        if isinstance(message, ModelCall):
            return {"type": "model_result", "id": message.id, "response": {"data": []}}
        return None

    said = run_agent(tmp_path, source, invoke("hi"), answer)
    assert only_answer(said).output.data == [503, 200]
    assert only_answer(said).usage is None

"""The static binary as an image's entry point: how it gives a program the task and takes its answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from protocol.messages import ModelCall, Ready, Trajectory
from tests.images.gateways import binary, models
from tests.images.talk import Said, invoke, play

pytestmark = pytest.mark.engine
ECHO = 'printf "stdin=%s args=%s env=%s" "$(cat)" "$*" "$FUMEHOOD_TASK"'
TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]


def launch(options: list[str], program: list[str], work: Any = None, answer: Any = lambda _: None) -> Said:
    work = invoke("hi\nthere") if work is None else work
    return play([str(binary()), *options, "--", *program], work, answer, env={"PATH": "/usr/bin:/bin"})


def answer_of(said: Said) -> Trajectory:
    (found,) = said.of(Trajectory)
    assert isinstance(found, Trajectory)
    return found


@pytest.mark.parametrize(
    ("how", "program", "text"),
    [
        ("stdin", ["sh", "-c", ECHO, "x"], "stdin=hi\nthere args= env="),
        ("arg", ["sh", "-c", ECHO, "x"], "stdin= args=hi\nthere env="),
        ("arg", ["sh", "-c", ECHO, "x", "{}", "-v"], "stdin= args=hi\nthere -v env="),
        ("env", ["sh", "-c", ECHO, "x"], "stdin= args= env=hi\nthere"),
        ("file", ["cat"], "hi\nthere"),
        ("file", ["sh", "-c", 'cat "$FUMEHOOD_TASK_FILE"'], "hi\nthere"),
    ],
)
def test_the_task_is_given_as_told_and_what_is_printed_is_the_answer(how: str, program: list[str], text: str) -> None:
    said = launch(["--task", how], program)
    assert (answer_of(said).status, answer_of(said).output.text) == ("completed", text)
    assert said.code == 0


def test_a_conversation_is_given_with_who_said_what() -> None:
    assert answer_of(launch([], ["cat"], invoke(TALK))).output.text == "system: Be brief.\n\nuser: Hello"


def test_the_last_json_that_is_printed_is_data() -> None:
    said = launch(["--answer", "json"], ["printf", 'loading\n{"n": 1}\n{"n": [2.50]}\nbye\n'])
    assert answer_of(said).output.data == {"n": [2.5]}
    said = launch(["--answer", "json"], ["printf", "none"])
    assert answer_of(said).status == "failed"
    assert answer_of(said).output.text == "none"


def test_a_program_that_fails_gives_a_failed_answer_with_what_it_printed() -> None:
    said = launch([], ["sh", "-c", "echo half; echo why >&2; exit 3"])
    assert (answer_of(said).status, answer_of(said).output.text) == ("failed", "half")
    assert answer_of(said).error is not None
    assert "exit status 3" in str(answer_of(said).error)
    assert "why" in said.stderr


@pytest.mark.parametrize(
    "wrong",
    [[], ["--", "/no/such/program"], ["--task", "mail", "--", "cat"], ["--answer", "xml", "--", "cat"],
     ["--task", "http", "--", "cat"]],
)  # fmt: skip
def test_what_cannot_be_started_never_says_ready(wrong: list[str]) -> None:
    said = play([str(binary()), *wrong], invoke("hi"), env={"PATH": "/usr/bin:/bin"})
    assert said.messages == []
    assert said.code == 1
    assert "fumehood-gateway:" in said.stderr


def test_a_child_left_behind_does_not_hold_the_answer() -> None:
    said = launch([], ["sh", "-c", "sleep 60 & echo done"])
    assert answer_of(said).output.text == "done"
    assert said.seconds < 10


def test_of_an_endless_answer_the_end_is_kept() -> None:
    said = launch([], ["sh", "-c", "head -c 9000000 /dev/zero | tr '\\0' x; echo END"])
    text = answer_of(said).output.text
    assert text is not None
    assert text.endswith("xEND")
    assert len(text) <= 1 << 20


def test_cancel_ends_the_program_and_all_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    program = ["sh", "-c", f"trap '' TERM; (sleep 3; touch {mark}) & wait; sleep 60"]
    said = launch([], program, b'%s\n{"type":"cancel","reason":"time"}\n' % json.dumps(invoke("hi")).encode())
    assert said.code == 0
    assert said.of(Trajectory) == []
    assert said.seconds < 2.5
    assert not mark.exists()


def test_a_server_is_up_before_ready_and_is_posted_the_task(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text("""
import http.server, json, os, time, urllib.request
time.sleep(0.5)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/responses', json.dumps(asked).encode())
        answer = urllib.request.urlopen(request).read()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)
print('up')
http.server.HTTPServer(('127.0.0.1', 18765), Handler).serve_forever()
""")
    options = ["--task", "http", "--url", "http://127.0.0.1:18765/run", "--answer", "json"]
    said = launch(options, ["python3", str(server)], invoke(TALK), models(lambda call: {"response": call.request}))
    assert isinstance(said.messages[0], Ready)
    asked = {"input": "system: Be brief.\n\nuser: Hello\n\n", "messages": TALK, "api": "responses"}
    assert answer_of(said).output.data == asked
    assert len(said.of(ModelCall)) == 1


def test_a_server_that_ends_at_once_never_says_ready() -> None:
    said = launch(["--task", "http", "--url", "http://127.0.0.1:18766/"], ["sh", "-c", "exit 4"])
    assert (said.messages, said.code) == ([], 1)
    assert "exit status 4" in said.stderr

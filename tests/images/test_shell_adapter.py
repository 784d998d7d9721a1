"""The shell adapter reads and writes JSON with awk: every string must come out as it went in."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.messages import ToolCall, Trajectory
from tests.images.talk import invoke, play

ADAPTER = Path(__file__).parents[2] / "agent-images" / "shell"
AGENT = ["sh", "agent.sh"]
# A shell variable holds no NUL and loses newlines at its end.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def shell(script: str, stdin: bytes) -> str:
    command = ["sh", "-c", f". ./fumehood-agent.sh; {script} >&3"]
    return subprocess.run(command, input=stdin, cwd=ADAPTER, capture_output=True, check=True).stdout.decode()


@settings(max_examples=40, deadline=None)
@given(text=TEXTS, ascii_only=st.booleans())
def test_a_string_is_read_as_it_was_sent(text: str, ascii_only: bool) -> None:
    line = json.dumps({"type": "answer", 'a"\\b': [{}, [], 1], "content": text}, ensure_ascii=ascii_only) + "\n"
    assert shell("fh_read; fh_text .content", line.encode()) == text


@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_text_is_escaped_to_the_inside_of_a_json_string(text: str) -> None:
    text = text.rstrip("\n")
    assert json.loads('"' + shell("fh_escape <&4", text.encode()) + '"') == text


@pytest.mark.parametrize("text", ["plain", 'q" \\ \\\\" \t\n\x01 \u2028 😀', "\\", '"', "", "x😀\\" * 30_000])
def test_the_example_says_back_what_it_was_told(text: str) -> None:
    said = play(AGENT, invoke(text), cwd=ADAPTER)
    assert said.of(Trajectory)[0].output.text == "You said: " + text


def test_the_example_fills_arguments_from_the_schema_and_reports_the_result() -> None:
    properties: dict[str, Any] = {"tier": {"type": "string"}, "n": {"type": "integer"}, "kind": {"enum": ["a b", "c"]}}
    schema = {"type": "object", "properties": properties, "required": ["tier", "n", "kind"]}
    tool = {"name": "lookup", "description": 'Look "up"\\', "input_schema": schema}
    said = play(
        AGENT,
        invoke('Ask for "premium" please', [tool]),
        lambda m: (
            {"type": "tool_result", "id": m.id, "status": "ok", "content": {"days": 60}}
            if isinstance(m, ToolCall)
            else None
        ),
        cwd=ADAPTER,
    )
    assert said.of(ToolCall)[0].arguments == {"tier": "premium", "n": 1, "kind": "a b"}
    assert said.of(Trajectory)[0].output.text == "lookup says: .days: 60"

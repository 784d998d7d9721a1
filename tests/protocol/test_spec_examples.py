"""spec.md cannot go stale: its examples decode, its tables are complete, its shell agent passes the dialogues."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import get_args

import pytest

import protocol
from protocol import MAX_DEPTH, messages
from protocol.codec import LineCode, LineError, LineSplitter, decode_agent, decode_harness
from protocol.dialogue import Dialogue, check_transcript, load_dialogues, opening

SPEC = (Path(protocol.__file__).parent / "spec.md").read_text(encoding="utf-8")
EXAMPLES = [line for block in re.findall(r"```jsonl\n(.*?)```", SPEC, re.DOTALL) for line in block.splitlines()]
DIALOGUES = load_dialogues()


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_decode(line: str) -> None:
    marker, _, rest = line.partition("> ")
    assert {"agent": decode_agent, "harness": decode_harness}[marker](rest.encode())


def test_every_message_has_an_example() -> None:
    shown = {re.search(r'"type":"(\w+)"', line).group(1) for line in EXAMPLES}  # type: ignore[union-attr]
    structs = get_args(messages.AgentMessage) + get_args(messages.HarnessMessage)
    assert shown == {struct.__struct_config__.tag for struct in structs}


def test_the_table_of_codes_is_complete() -> None:
    assert re.findall(r"^\| `(\w+)` \|", SPEC, re.MULTILINE) == list(get_args(LineCode))
    assert f"nested deeper than {MAX_DEPTH}" in SPEC


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda one: one.name)
def test_the_two_line_shell_agent_conforms(dialogue: Dialogue) -> None:
    [script] = re.findall(r"```sh\n(.*?)```", SPEC, re.DOTALL)
    assert len(script.splitlines()) == 2
    done = subprocess.run(["sh", "-c", script], input=opening(dialogue), capture_output=True, timeout=30, check=False)
    splitter = LineSplitter(protocol.DEFAULT_MAX_LINE_BYTES)
    lines = splitter.feed(done.stdout)
    assert splitter.close() is None
    assert check_transcript(dialogue, lines, True, done.returncode) == []


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda one: one.name)
def test_every_dialogue_opens_with_a_message_agents_understand(dialogue: Dialogue) -> None:
    line = opening(dialogue)
    if dialogue.on_start == "close_stdin":
        assert line == b""
    else:
        assert line.endswith(b"\n")
        assert decode_harness(line[:-1])
    assert isinstance(decode_harness(opening(dialogue_with_invoke(dialogue))[:-1]), messages.Invoke)


def dialogue_with_invoke(dialogue: Dialogue) -> Dialogue:
    return Dialogue(dialogue.name, dialogue.about, dialogue.invoke, repeat_input=dialogue.repeat_input)


def test_the_dialogues_cover_what_they_must() -> None:
    by_name = {one.name: one for one in DIALOGUES}
    assert len(by_name) == len(DIALOGUES) >= 8
    big = opening(by_name["big-input"])
    assert len(big) > 500_000
    assert "\u2028".encode() in big
    assert "🙂".encode() in big
    with pytest.raises(LineError):
        decode_agent(big[:-1])
    assert {one.on_start for one in DIALOGUES} == {"invoke", "cancel_at_once", "close_stdin"}
    assert {one.tool_reply for one in DIALOGUES} == {"ok", "error", "denied"}

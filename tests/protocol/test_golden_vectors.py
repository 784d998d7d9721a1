"""Every golden line: the valid ones decode, each invalid one gives exactly its code and offset."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import protocol
from protocol import DEFAULT_MAX_LINE_BYTES
from protocol.codec import LineCode, LineError, LineSplitter, decode_agent, decode_harness, encode

VECTORS = Path(protocol.__file__).parent / "vectors"
INDEX: list[dict[str, Any]] = json.loads((VECTORS / "invalid" / "index.json").read_bytes())
VALID = sorted((VECTORS / "valid").glob("*.jsonl"))


def refuse(data: bytes, sender: str, cap: int) -> LineError:
    """What the first refusal of a stream is; fails the test where there is none."""
    splitter = LineSplitter(cap)
    for item in [*splitter.feed(data), splitter.close()]:
        if isinstance(item, LineError):
            return item
        if item is not None:
            try:
                (decode_agent if sender == "agent" else decode_harness)(item)
            except LineError as err:
                return err
    raise AssertionError("taken")


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_valid_lines_decode_and_come_back_the_same(path: Path) -> None:
    decode: Any = decode_agent if path.stem.startswith("agent") else decode_harness
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    for line in lines:
        message = decode(line)
        assert decode(encode(message)[:-1]) == message


@pytest.mark.parametrize("case", INDEX, ids=lambda case: case["file"])
def test_invalid_lines_give_their_code_and_offset(case: dict[str, Any]) -> None:
    data = (VECTORS / "invalid" / case["file"]).read_bytes()
    if case["file"].endswith(".b64"):
        data = base64.b64decode(data)
    error = refuse(data, case["from"], case.get("max_line_bytes", DEFAULT_MAX_LINE_BYTES))
    assert (error.code, error.offset) == (case["code"], case["offset"]), error


def test_the_index_lists_every_file_once_and_every_code() -> None:
    files = sorted(path.name for path in (VECTORS / "invalid").iterdir() if path.name != "index.json")
    assert [case["file"] for case in INDEX] == files
    assert {case["code"] for case in INDEX} == set(LineCode.__args__)  # type: ignore[attr-defined]

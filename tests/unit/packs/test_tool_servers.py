"""Servers of tools in a pack: what a scenario gets of them, and every mistake at its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import UNSET

from harness.domain.pack import ToolServer
from harness.errors import PackError
from harness.packs.load import load_pack
from harness.scoring.registry import CATALOGUE

HEAD = "fumehood: 1\npack: {name: p, version: '1'}\n"
TOOLS = """\
tool_servers:
  files: {image: "python:3.12-slim", command: [python3, /server.py], env: {ROOT: /data}, timeout_ms: 500}
  other: {image: other}
tools:
  read: {description: Reads., input_schema: {type: object}, server: files}
  look: {description: Looks., input_schema: {type: object}, server: other}
  plain: {description: Plain., input_schema: {type: object}, replies: [{return: 1}]}
"""


def load(tmp_path: Path, text: str) -> object:
    path = tmp_path / "pack.yaml"
    path.write_text(HEAD + text)
    return load_pack(path, CATALOGUE)


def test_a_scenario_gets_the_servers_its_tools_name_and_no_other(tmp_path: Path) -> None:
    pack = load(
        tmp_path,
        TOOLS
        + "scenarios:\n- {id: a, input: x, allowed_tools: [read, plain]}\n- {id: b, input: x, allowed_tools: [plain]}\n"
        "- {id: c, input: x, allowed_tools: [read, look], disallowed_tools: [look]}\n",
    )
    files = ToolServer("python:3.12-slim", ["python3", "/server.py"], {"ROOT": "/data"}, 500)
    assert [scenario.servers for scenario in pack.scenarios] == [{"files": files}, UNSET, {"files": files}]  # type: ignore[attr-defined]


def test_the_guides_example_loads(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/tool-servers.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "pack.yaml").write_text(text)
    (scenario,) = load_pack(tmp_path / "pack.yaml", CATALOGUE).scenarios
    assert list(scenario.servers or {}) == ["ledger"]


def test_every_mistake_is_told_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(PackError) as caught:
        load(
            tmp_path,
            """\
tool_servers:
  files: {image: "", comand: [x]}
  "../x": {image: y, env: {"A B": "1"}}
  keys: {image: z, env: {KEY: "{{canary:NONE}}"}, timeout_ms: 0}
tools:
  read: {description: Reads., input_schema: {}, server: file}
  look: {description: Looks., input_schema: {}, server: keys}
scenarios:
- {id: a, input: x}
""",
        )
    found = [str(problem).split("pack.yaml:")[1] for problem in caught.value.problems]
    places = [(line.split(":")[0], line.split(": ", 1)[1]) for line in found]
    for where, what in (
        ("4", "unknown field 'comand'"),
        ("4", "image must have at least 1"),
        ("4", 'tool server "files" is named by no tool'),
        ("5", "unsafe"),
        ("6", "timeout_ms must be at least 1"),
        ("6", 'canary "NONE" is not in'),
        ("8", "unknown server \"file\": not in tool_servers; did you mean 'files'?"),
    ):
        assert any(place == where and what in text for place, text in places), (where, what, found)

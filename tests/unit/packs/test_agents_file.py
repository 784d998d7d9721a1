"""Files of agents: what a good one gives, and every problem of a bad one at once, each at its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.agents import AgentEntry
from harness.domain.limits import OwnLimits
from harness.errors import PackError
from harness.packs.agents import load_agents


def nothing(field: str, text: str) -> str | None:
    return None


def problems(tmp_path: Path, text: str, refused: object = nothing) -> list[str]:
    path = tmp_path / "agents.yaml"
    path.write_text(text)
    with pytest.raises(PackError) as caught:
        load_agents(path, refused)  # type: ignore[arg-type]
    return [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems]


def test_a_file_gives_its_agents_in_order(tmp_path: Path) -> None:
    path = tmp_path / "agents.yaml"
    path.write_text(
        "agents:\n"
        "  - {name: a, dir: here}\n"
        "  - name: b\n    image: x/b:1\n    writable: redirect\n    writable_paths: [/data]\n"
        "    limits: {pids: 64}\n    model_map: {gpt-*: local}\n"
    )
    assert load_agents(path, nothing) == (
        AgentEntry("a", dir="here"),
        AgentEntry(
            "b", "x/b:1", None, "redirect", ["/data"], OwnLimits(pids=64), {"gpt-*": "local"},
        ),
    )  # fmt: skip


def test_the_guides_example_loads(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/agents.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "agents.yaml").write_text(text)
    assert [agent.name for agent in load_agents(tmp_path / "agents.yaml", nothing)] == ["ours", "theirs"]


def test_every_problem_is_told_at_once_each_at_its_place(tmp_path: Path) -> None:
    text = """\
agents:
  - {name: a, dir: here, image: there}
  - {name: a, dir: here, color: red}
  - {name: "../b"}
  - name: c
    dir: bad
    writable_paths: [/data]
    limits: {pids: 0, wall_ms: 5}
    model_map: {"": x}
color: red
"""
    found = problems(tmp_path, text, lambda field, value: "no such folder" if value == "bad" else None)
    assert found == [
        "2:5: an agent needs exactly one of 'image' and 'dir'; this one has both",
        '3:12: duplicate agent name "a" (first on line 2)',
        "3:26: unknown field 'color' in item of agents",
        "4:5: an agent needs exactly one of 'image' and 'dir'; this one has neither",
        '4:12: unsafe name "../b": letters, digits, single dots, _ and - only, starting with a letter or digit',
        "6:10: dir: no such folder",
        "7:5: writable_paths needs 'writable: redirect' beside it",
        "8:20: pids must be at least 4, not 0",
        "8:23: unknown field 'wall_ms' in limits",
        '9:17: key of model_map must have at least 1 characters, not ""',
        "10:1: unknown field 'color' in the file",
    ]


@pytest.mark.parametrize("text", ["", "agents: []", "agents: {a: b}", "- a", "agents: [null, 3, x]", "agents: &a [*a]"])
def test_what_is_no_list_of_agents_is_refused_with_a_place(tmp_path: Path, text: str) -> None:
    assert all(problem.split(":")[0].isdigit() for problem in problems(tmp_path, text))


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="no file of agents at"):
        load_agents(tmp_path / "none.yaml", nothing)


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise_anything_but_problems(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "agents.yaml"
    path.write_bytes(data)
    with pytest.raises(PackError):
        load_agents(path, nothing)

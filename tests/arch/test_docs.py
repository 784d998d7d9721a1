"""The pages in docs/ say what the code does: made ones are fresh, examples run, links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec import UNSET

from harness.app.check import check_image
from harness.app.images import build
from harness.app.init import write
from harness.app.labels import read_labels
from harness.app.packs import load
from harness.cli import main as command_line
from harness.domain.pack import ScenarioFile, ToolReply
from protocol.messages import AgentMessage, Ready, ToolCall, Trajectory
from tests.arch.tree import ROOT
from tests.e2e.rig import fumehood
from tests.images.talk import invoke, play

DOCS = ROOT / "docs"
LANGUAGES = {
    "python": ("python", "agent.py"),
    "js": ("node", "agent.js"),
    "sh": ("shell", "agent.sh"),
    "go": ("go", "main.go"),
}
COMMANDS = {
    "python": [sys.executable, "-m", "fumehood_agent", "agent:agent"],
    "sh": ["sh", "agent.sh"],
}
UNWRITTEN = {"audit", "runs"}
"""Commands that `--help` lists and nothing implements yet."""
WORK = invoke(
    "How long may a premium customer return an order?",
    [{"name": "policy_lookup", "description": "", "input_schema": {"type": "object"}}],
)


@cache
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fumehood_docs", ROOT / "script" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of one language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def agent_of(language: str) -> str:
    """The one block of the guide that is a whole agent in `language`."""
    (found,) = (text for text in blocks("writing-an-agent.md", language) if "policy_lookup" in text)
    return found


@pytest.mark.parametrize("page", ["cli.md", "ends.md", "limits.md", "checks.md"])
def test_a_made_page_is_fresh(page: str) -> None:
    made = generator().PAGES[page]()
    assert (DOCS / page).read_text() == made, f"docs/{page} is stale: run script/docs"


def test_the_readme_tells_every_command() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [
        name
        for name in command_line.COMMANDS
        if f"`fumehood {name}" not in readme and f"$ fumehood {name} " not in readme
    ] == []


def test_every_page_is_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in sorted(DOCS.glob("*.md")) if f"(docs/{page.name})" not in readme] == []


def test_the_labels_in_the_guide_to_the_judge_can_be_read(tmp_path: Path) -> None:
    (labels,) = blocks("judge.md", "json")
    path = tmp_path / "labels.jsonl"
    path.write_text(labels)
    assert [question.check for question in read_labels(path, tmp_path)] == ["task_completion", "refusal_quality"]


def test_a_stale_page_is_seen_and_mended(tmp_path: Path) -> None:
    pages = generator().PAGES
    for name, make in pages.items():
        (tmp_path / name).write_text(make())
    assert generator().stale(tmp_path) == []
    (tmp_path / "ends.md").write_text("old")
    (tmp_path / "cli.md").unlink()
    assert sorted(generator().stale(tmp_path)) == ["cli.md", "ends.md"]


def test_every_command_listed_is_there() -> None:
    files = {path.stem for path in (ROOT / "harness" / "cli").glob("*.py")}
    assert set(generator().COMMANDS) - files <= UNWRITTEN


def test_every_command_that_is_there_is_in_the_reference_with_an_example() -> None:
    text = (DOCS / "cli.md").read_text()
    sections = {part.split("\n", 1)[0]: part for part in text.split("\n## ")[1:]}
    files = {path.stem for path in (ROOT / "harness" / "cli").glob("*.py")} & set(generator().COMMANDS)
    assert {f"fumehood {name}" for name in files} <= set(sections)
    verbs = [part for name, part in sections.items() if "COMMAND [ARGS]" not in part]
    assert len(verbs) >= 8
    assert [part.split("\n", 1)[0] for part in verbs if "```sh\nfumehood " not in part] == []


@pytest.mark.parametrize("language", sorted(COMMANDS))
@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"status": "ok", "content": {"days": 60}}, "You may return it within 60 days."),
        ({"status": "error", "content": None, "reason": "closed today"}, "I could not look that up: closed today"),
    ],
)
def test_the_agents_in_the_guide_answer(language: str, result: dict[str, Any], answer: str, tmp_path: Path) -> None:
    folder, file = LANGUAGES[language]
    write(tmp_path, folder)
    (tmp_path / "agent" / file).write_text(agent_of(language))

    def tool(message: AgentMessage) -> dict[str, Any] | None:
        return {"type": "tool_result", "id": message.id, **result} if isinstance(message, ToolCall) else None

    said = play(COMMANDS[language], WORK, tool, cwd=tmp_path / "agent")
    assert said.code == 0, said.stderr
    assert [(call.name, call.arguments) for call in said.of(ToolCall)] == [("policy_lookup", {"tier": "premium"})]
    assert [end.output.text for end in said.of(Trajectory)] == [answer]


@pytest.mark.engine
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_the_agents_in_the_guide_build_and_conform(language: str, tmp_path: Path) -> None:
    folder, file = LANGUAGES[language]
    write(tmp_path, folder)
    (tmp_path / "agent" / file).write_text(agent_of(language))
    reference, _ = build(tmp_path / "agent", f"fumehood/docs-{folder}")
    results = check_image(reference)
    assert len(results) > 5
    assert [f"{result.name}: {result.reason}" for result in results if not result.passed] == []


def test_the_two_line_agent_is_one() -> None:
    (tiny,) = (text for text in blocks("writing-an-agent.md", "sh") if text.startswith("echo"))
    assert len(tiny.splitlines()) == 2
    said = play(["sh", "-c", tiny], WORK)
    assert [type(message) for message in said.messages] == [Ready, Trajectory]
    assert said.code == 0


@pytest.mark.parametrize("number", range(2))
def test_the_packs_in_the_guide_load(number: int, tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(blocks("writing-a-pack.md", "yaml")[number])
    assert len(load(path).scenarios) == (1, 4)[number]


def written_out(folder: Path) -> Path:
    """The example with a workspace, file by file, as the guide names them; the folder."""
    page = (DOCS / "writing-a-pack.md").read_text()
    for name, text in re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_the_pack_with_a_workspace_in_the_guide_loads(tmp_path: Path) -> None:
    (scenario,) = load(written_out(tmp_path)).scenarios
    assert scenario.workspace is not UNSET
    assert [file.path for file in scenario.workspace] == ["stats.py"]
    assert [check.check for check in scenario.checks] == ["workspace_diff", "verify"]


@pytest.mark.engine
@pytest.mark.parametrize(("mends", "code"), [(True, 0), (False, 1)])
def test_the_agent_of_the_guide_mends_the_program_and_one_that_does_not_fails(
    tmp_path: Path, mends: bool, code: int
) -> None:
    written_out(tmp_path)
    agent = tmp_path / "agent"
    lines = (agent / "agent.sh").read_text().splitlines()
    (agent / "agent.sh").write_text("\n".join(line for line in lines if mends or not line.startswith("sed")) + "\n")
    (agent / "Dockerfile").write_text(
        'ARG BASE=busybox:1.36\nFROM ${BASE}\nCOPY agent.sh /\nENTRYPOINT ["/bin/sh", "/agent.sh"]\n'
    )
    built, _ = build(agent, "fumehood/docs-mender")
    done = fumehood("run", tmp_path / "pack.yaml", "--agent", built, "--store", tmp_path / "store")
    assert done.returncode == code, done.stdout + done.stderr


def test_the_pack_guide_has_no_other_example_and_names_every_field() -> None:
    text = (DOCS / "writing-a-pack.md").read_text()
    assert len(blocks("writing-a-pack.md", "yaml")) == 3
    fields = [name for name in (*ScenarioFile.__struct_fields__, *ToolReply.__struct_fields__) if name != "return_"]
    assert [name for name in fields if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_links_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", (DOCS / page).read_text())
    assert [target for target in targets if "://" not in target and not (DOCS / target).is_file()] == []


def test_commands_in_the_guides_exist() -> None:
    known = set(re.findall(r"^## fumehood (.+)$", (DOCS / "cli.md").read_text(), re.MULTILINE))
    for page in ("writing-an-agent.md", "writing-a-pack.md"):
        for line in "\n".join(blocks(page, "sh")).splitlines():
            if line.startswith("fumehood "):
                words = line.split()
                assert {words[1], " ".join(words[1:3])} & known, line


def test_json_on_the_guides_command_lines_is_json() -> None:
    """What is echoed to the protocol, or passed as arguments, is read by the tests as it stands."""
    found = re.findall(r"'(\{.*\})'", (DOCS / "writing-an-agent.md").read_text())
    assert len(found) == 3
    assert all(isinstance(json.loads(text), dict) for text in found)

"""What `fumehood init` writes, and that it never overwrites."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from harness.app.init import LANGUAGES, write
from harness.app.packs import load
from harness.cli.init import init
from harness.cli.run import run
from harness.errors import UsageError


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_gets_a_pack_an_agent_and_both_workflows(tmp_path: Path, language: str) -> None:
    target = tmp_path / "new"
    names = {str(path.relative_to(target)) for path in write(target, language)}
    assert {"pack.yaml", "agent/Dockerfile", ".github/workflows/fumehood.yml", ".gitlab-ci.yml"} <= names
    assert names == {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()}
    copied = [word for line in (target / "agent/Dockerfile").read_text().splitlines() if line.startswith("COPY ")
              and "--from" not in line for word in line.split()[1:-1]]  # fmt: skip
    assert copied
    assert {f"agent/{name}" for name in copied} <= names


def test_the_written_pack_is_valid_and_its_scenarios_have_checks(tmp_path: Path) -> None:
    write(tmp_path, "python")
    pack = load(tmp_path / "pack.yaml")
    assert len(pack.scenarios) == 3
    assert all(scenario.checks for scenario in pack.scenarios)
    assert pack.bars


@pytest.mark.parametrize("name", [".github/workflows/fumehood.yml", ".gitlab-ci.yml"])
def test_the_workflows_are_yaml_and_run_what_was_written(tmp_path: Path, name: str) -> None:
    write(tmp_path, "python")
    text = (tmp_path / name).read_text()
    assert YAML(typ="safe").load(text)
    (command,) = re.findall(r"fumehood run (pack\.yaml --agent agent.*)", text)
    given = run.make_context("run", shlex.split(command)).params
    for option in ("junit", "markdown"):
        assert text.count(str(given[option])) > 1, f"the {option} file is written and nobody shows it"


@pytest.mark.parametrize("taken", ["pack.yaml", ".gitlab-ci.yml", "agent/Dockerfile"])
def test_nothing_is_written_where_one_file_is_there(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).parent.mkdir(exist_ok=True)
    (tmp_path / taken).write_text("mine")
    with pytest.raises(UsageError, match=taken):
        write(tmp_path, "shell")
    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"


def test_a_dangling_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"pack\.yaml"):
        write(tmp_path, "go")
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_in_the_way_of_a_folder_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("mine")
    with pytest.raises(UsageError):
        write(tmp_path, "node")


def test_the_next_command_is_printed_quoted(tmp_path: Path) -> None:
    done = CliRunner().invoke(init, [str(tmp_path / "my project")])
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == (
        f"next: fumehood run '{tmp_path}/my project/pack.yaml' --agent '{tmp_path}/my project/agent'"
    )

"""What agents of a run are called, and what one that cannot be had costs."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from harness.app.agents import _distinct, _name, again
from harness.app.data import data_dir, or_shipped
from harness.domain.spec import AgentRef
from harness.testing.engine import MemoryEngine
from tests.support import healthy

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("fumehood/support:2", "support"),
        ("127.0.0.1:5000/a/b@sha256:00", "b"),
        ("../odd name!", "odd-name"),
        ("…", "agent"),
    ],
)
def test_an_image_is_called_after_its_last_part(given: str, name: str) -> None:
    assert _name(given) == name


def test_a_folder_called_agent_is_called_after_the_one_that_holds_it(tmp_path: Path) -> None:
    (tmp_path / "desk" / "agent").mkdir(parents=True)
    (tmp_path / "support").mkdir()
    assert _name(str(tmp_path / "desk" / "agent")) == "desk"
    assert _name(f"{tmp_path}/support/") == "support"


def test_two_of_one_name_are_told_apart() -> None:
    assert [name for name, _ in _distinct([("a", "x"), ("a", "y"), ("a", "z")])] == ["a", "a-2", "a-3"]


async def test_an_agent_that_is_gone_is_kept_with_its_friction_and_costs_no_other() -> None:
    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {"good": healthy})
        fleet = await again(engine, [AgentRef("good", "good"), AgentRef("gone", "gone")])
    assert [(agent.name, agent.friction_end) for agent in fleet.agents] == [("good", None), ("gone", "image_missing")]
    assert list(fleet.images) == ["good"]


def test_a_name_of_ours_is_found_from_anywhere_and_a_users_own_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert or_shipped(Path("packs/core")) == data_dir() / "packs" / "core"
    assert or_shipped(Path("packs/../packs/core")) == Path("packs/../packs/core")
    assert or_shipped(Path("pyproject.toml")) == Path("pyproject.toml")
    (tmp_path / "packs" / "core").mkdir(parents=True)
    assert or_shipped(Path("packs/core")) == Path("packs/core")

"""What agents of a run are called, and what one that cannot be had costs."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec
import pytest

from harness.app.agents import _distinct, _name, again, gather, wanted
from harness.app.data import data_dir, or_shipped
from harness.domain.limits import Limits, OwnLimits
from harness.domain.model import NameRule
from harness.domain.spec import AgentRef, Policy
from harness.errors import PackError
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


async def test_a_folder_mistyped_is_told_to_be_none() -> None:
    said: list[str] = []
    async with anyio.create_task_group() as tasks:
        fleet = await gather(MemoryEngine(tasks, {}), wanted(["desk/agnt"], None), said.append)
    assert (fleet.agents[0].friction or "").endswith("; and there is no folder desk/agnt")
    assert said == [f"agent agnt cannot be run: {fleet.agents[0].friction}"]


def test_a_name_of_ours_is_found_from_anywhere_and_a_users_own_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert or_shipped(Path("packs/core")) == data_dir() / "packs" / "core"
    assert or_shipped(Path("packs/../packs/core")) == Path("packs/../packs/core")
    assert or_shipped(Path("pyproject.toml")) == Path("pyproject.toml")
    (tmp_path / "packs" / "core").mkdir(parents=True)
    assert or_shipped(Path("packs/core")) == Path("packs/core")


def listed(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "agents.yaml"
    path.write_text(text)
    return path


async def test_agents_of_a_file_come_after_the_command_lines_and_keep_their_names(tmp_path: Path) -> None:
    path = listed(tmp_path, "agents: [{name: good, image: good}, {name: gone, image: gone}]")
    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {"good": healthy})
        fleet = await gather(engine, wanted(["good", "good"], path), lambda _: None)
    ends = {agent.name: agent.friction_end for agent in fleet.agents}
    assert ends == {"good-2": None, "good-3": None, "good": None, "gone": "image_missing"}
    assert sorted(fleet.images) == ["good", "good-2", "good-3"]


async def test_a_manifest_with_mistakes_costs_only_its_own_agent() -> None:
    def broken() -> tuple[str, str]:
        raise PackError("agent.yaml has 1 problem", ("agent.yaml:2:1: unknown field 'x'",))

    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {"good": healthy})
        one, other = wanted(["good", "bad"], None)
        fleet = await gather(engine, [one, msgspec.structs.replace(other, locate=broken)], lambda _: None)
    assert [agent.friction_end for agent in fleet.agents] == [None, "image_invalid"]
    assert "agent.yaml:2:1" in (fleet.agents[1].friction or "")


def test_what_an_agent_of_a_file_is_given_of_its_own_stands_in_place_of_the_runs(tmp_path: Path) -> None:
    path = listed(
        tmp_path,
        "agents:\n- {name: a, image: a, writable: redirect, writable_paths: [/data], limits: {pids: 9},"
        " model_map: {gpt-4: mine}}\n- {name: b, image: b}",
    )
    own, plain = (one.ref for one in wanted([], path))
    run = Policy("redirect", ("/other",), "crun")
    assert own.policy(run) == Policy("redirect", ("/data",), "crun")
    assert plain.policy(run) == run
    assert own.limits.over(Limits()) == Limits(pids=9)
    assert own.model_names == (NameRule("gpt-4", "mine"),)
    assert (plain.limits, plain.model_names) == (OwnLimits(), ())


def test_what_can_be_seen_of_images_folders_and_paths_is_refused_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    path = listed(
        tmp_path,
        "agents:\n- {name: a, image: 'no image!'}\n- {name: b, dir: gone}\n- {name: c, dir: empty}\n"
        "- {name: d, image: d, writable: redirect, writable_paths: [/proc/x]}\n"
        "- {name: e, dir: agent-images/reference-support}",
    )
    with pytest.raises(PackError) as caught:
        wanted([], path)
    found = [str(problem).removeprefix(f"{path}:") for problem in caught.value.problems]
    assert [text.split(":")[0] for text in found] == ["2", "3", "4", "5"]


async def test_an_agent_that_goes_on_keeps_what_it_was_given() -> None:
    given = AgentRef("good", "good", writable="redirect", limits=OwnLimits(pids=9))
    async with anyio.create_task_group() as tasks:
        fleet = await again(MemoryEngine(tasks, {"good": healthy}), [given])
    assert fleet.agents == (msgspec.structs.replace(given, digest=fleet.images["good"].digest),)


async def test_an_agent_with_a_manifest_is_known_by_its_adapter(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "agent.yaml").write_text("fumehood: 1\nadapter: cli\nentry: cat\n")
    (one,) = wanted([], listed(tmp_path, "agents: [{name: a, dir: mine}]"))
    async with anyio.create_task_group() as tasks:
        built = msgspec.structs.replace(one, locate=lambda: ("good", "good"))
        fleet = await gather(MemoryEngine(tasks, {"good": healthy}), [built], lambda _: None)
        assert [agent.adapter for agent in fleet.agents] == ["cli"]
        assert (await again(MemoryEngine(tasks, {"good": healthy}), fleet.agents)).agents == fleet.agents


async def test_an_agent_that_could_not_be_had_is_not_looked_for_again_when_its_run_goes_on() -> None:
    lost = AgentRef("lost", "/somewhere/Broken Folder", friction="no", friction_end="image_invalid")
    async with anyio.create_task_group() as tasks:
        fleet = await again(MemoryEngine(tasks, {"/somewhere/Broken Folder": healthy}), [lost])
    assert (fleet.agents, fleet.images) == ((lost,), {})

"""`fumehood gc` also removes the copies of images that no longer have a name, and breaks no run by it."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker import errors as docker_errors

from tests.e2e.rig import PUPPET, engine, fumehood, scenario, write_pack

pytestmark = pytest.mark.engine


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    """An agent's image that is no other test's."""
    folder, tag = tmp_path / "own", f"fumehood-e2e/{uuid.uuid4().hex[:12]}"
    shutil.copytree(PUPPET, folder)
    with (folder / "agent.py").open("a") as file:
        file.write(f"# {tag}\n")
    assert fumehood("image", "build", folder, "-t", tag).returncode == 0
    ident = engine().inspect_image(tag)["Id"]
    yield tag
    for left in (*copies(ident), ident):
        try:
            engine().remove_image(left, force=True)
        except docker_errors.NotFound:
            continue


def copies(ident: str) -> list[str]:
    return [image["Id"] for image in engine().images(filters={"label": f"fumehood.source={ident}"})]


def test_a_copy_goes_once_its_source_has_no_name_and_can_be_made_again(tmp_path: Path, agent: str) -> None:
    pack, store = write_pack(tmp_path, scenario("one", "finish('1')")), tmp_path / "store"
    assert fumehood("run", pack, "--agent", agent, "--store", store).returncode == 0
    ident = engine().inspect_image(agent)["Id"]
    (copy,) = copies(ident)
    fumehood("gc")
    assert copies(ident) == [copy]  # its source has a name
    engine().remove_image(agent)
    planned = fumehood("gc", "--dry-run")
    assert "would remove image fumehood-prepared:" in planned.stdout
    assert copies(ident) == [copy]
    done = fumehood("gc")
    assert done.returncode == 0, done.stderr
    assert "removed image fumehood-prepared:" in done.stdout
    assert copies(ident) == []
    again = fumehood("run", pack, "--agent", ident, "--store", store)
    assert again.returncode == 0, again.stdout + again.stderr


def test_every_container_a_run_makes_says_whose_it_is(tmp_path: Path, agent: str) -> None:
    """The one that an image's copy is made from too: killed at that moment, `gc` must find it."""
    pack, store = write_pack(tmp_path, scenario("one", "finish('1')")), tmp_path / "store"
    ident, since = engine().inspect_image(agent)["Id"], int(time.time())
    assert fumehood("run", pack, "--agent", agent, "--store", store).returncode == 0
    (copy,) = copies(ident)
    made = engine().events(
        since=since, until=int(time.time()) + 1, decode=True, filters={"type": "container", "event": "create"}
    )
    owners = [e["Actor"]["Attributes"].get("fumehood.owner") for e in made if e["from"] in (ident, copy)]
    assert len(owners) == 2
    assert all(owners)
    inherited = engine().inspect_image(copy)["Config"]["Labels"]
    of_base = "fumehood.base."  # of a local stand-in for a public base image
    ours = [name for name in inherited if name.startswith("fumehood.") and not name.startswith(of_base)]
    assert {name: inherited[name] for name in ours} == {
        "fumehood.run": "",
        "fumehood.trial": "",
        "fumehood.owner": "",
        "fumehood.source": ident,
        "fumehood.user": "65532:65532",
    }

"""What a manifest's image holds, looked at from inside: the folder, its environment, and nothing that was left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.app.images import build
from harness.domain.ids import TrialKey
from harness.errors import ImageInvalid
from tests.e2e.rig import events, fumehood, last, write_pack

pytestmark = pytest.mark.engine

MANIFEST = r"""
fumehood: 1
adapter: python
entry: desk.main:look
name: test-manifest-build
install: {pip: [.]}
env: {QUOTED: 'say "$HOME" \ it''s', EMPTY: ""}
writable: [notes, /var/lib/desk/deep]
"""
LOOK = """
import os
import deskpackage

def look(text):
    for path in ("notes/new", "/var/lib/desk/deep/new"):
        with open(path, "w") as file:
            file.write("x")
    found = sorted(os.path.join(here, name) for here, _, names in os.walk(".", followlinks=True) for name in names)
    return {
        "env": {name: os.environ[name] for name in ("QUOTED", "EMPTY")},
        "files": found,
        "seed": open("notes/seed").read(),
        "link": os.readlink("link"),
        "package": deskpackage.WORD,
        "cwd": os.getcwd(),
        "user": os.getuid(),
    }
"""
PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "deskpackage"
version = "1"
[tool.setuptools]
packages = ["deskpackage"]
package-dir = {deskpackage = "src"}
"""


def test_the_agent_finds_its_folder_as_the_manifest_says(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    files = {
        "agent.yaml": MANIFEST, "desk/main.py": LOOK, "pyproject.toml": PROJECT, "src/__init__.py": "WORD = 'here'",
        "notes/seed": "sown", "big.bin": "x", "kept.txt": "x", ".git/config": "x", "venv/x": "x",
        "desk/__pycache__/main.pyc": "x", ".dockerignore": "# large\nbig.*\n.dockerignore\n",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "kept.txt").chmod(0o600)
    (folder / "link").symlink_to("kept.txt")
    pack = write_pack(tmp_path, {"id": "look", "input": "look"})
    done = fumehood("run", pack, "--agent", folder, "--limit", "startup_ms=60000", "--store", tmp_path / "store")
    (end,) = events(last(tmp_path / "store"), TrialKey("desk", "look", 1), "trajectory") or [done.stdout]
    seen: dict[str, Any] = end["output"]["data"]
    kept = ["desk/main.py", "kept.txt", "link", "notes/new", "notes/seed", "pyproject.toml", "src/__init__.py"]
    made_by_pip = ("./build/", "./deskpackage.egg-info/")
    assert [path for path in seen.pop("files") if not path.startswith(made_by_pip)] == [f"./{name}" for name in kept]
    assert seen == {
        "env": {"QUOTED": 'say "$HOME" \\ it\'s', "EMPTY": ""},
        "seed": "sown",
        "link": "kept.txt",
        "package": "here",
        "cwd": "/app/code",
        "user": 65532,
    }


def test_a_build_that_fails_names_the_manifest_and_the_packages(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(
        "fumehood: 1\nadapter: python\nentry: a:b\nname: test-fails\ninstall: {pip: [./no-such-folder]}\n"
    )
    with pytest.raises(ImageInvalid, match="no-such-folder") as caught:
        build(tmp_path)
    assert caught.value.remedy == f"repair {tmp_path / 'agent.yaml'}"

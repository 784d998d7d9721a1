"""The wheel holds all that an installed `fumehood` needs, and nothing that is only lying about."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.arch.tree import ROOT, modules


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """Names in the wheel, built once."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    done = subprocess.run([*pip, "--wheel-dir", folder, ROOT], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("fumehood-*.whl")
    return frozenset(zipfile.ZipFile(built).namelist())


def data_files(folder: str) -> set[str]:
    paths = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in paths}


def test_every_module_is_in_it(wheel: frozenset[str]) -> None:
    assert {module.where for module in modules()} - wheel == set()


@pytest.mark.parametrize("folder", ["agent-images", "packs"])
def test_agents_and_packs_are_in_it(wheel: frozenset[str], folder: str) -> None:
    wanted = {f"harness/_data/{name}" for name in data_files(folder)}
    assert len(wanted) > 5
    assert wanted - wheel == set()


def test_protocol_data_is_in_it(wheel: frozenset[str]) -> None:
    wanted = {name for name in data_files("protocol") if not name.endswith(".py")}
    assert {"protocol/schema.json", "protocol/spec.md", "protocol/vectors/invalid/index.json"} <= wanted
    assert wanted - wheel == set()


def test_guard_templates_and_type_markers_are_in_it(wheel: frozenset[str]) -> None:
    templates = data_files("harness/app/templates")
    assert len(templates) > 10
    assert {"harness/engines/guard.c", "harness/py.typed", "protocol/py.typed", *templates} - wheel == set()


def test_the_page_of_the_html_report_is_in_it(wheel: frozenset[str]) -> None:
    wanted = data_files("harness/report/html/templates") | data_files("harness/report/html/static")
    assert {"harness/report/html/templates/page.html.j2", "harness/report/html/static/style.css"} <= wanted
    assert wanted - wheel == set()


def test_nothing_else_is_in_it(wheel: frozenset[str]) -> None:
    tops = {Path(name).parts[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"harness", "protocol"}
    assert [name for name in wheel if "__pycache__" in name or name.endswith((".pyc", ".so", "~"))] == []

"""The one rule on imports: each row of the tree imports only what lies below it, and two parts never each other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.arch.tree import ROOT, Import, Module, imports, imports_of, modules, within

BASE = ("harness", "harness.domain", "harness.stats", "harness.errors")
"""Row 1, and `harness` itself, which holds the version."""

PARTS = (
    "engines", "session", "boundary", "tools", "models", "packs", "scoring", "store", "report", "testing",
    "compare", "triage",
)  # fmt: skip

ROWS: dict[str, tuple[str, ...]] = {
    "protocol": ("protocol",),
    "harness.domain": BASE,
    "harness.stats": BASE,
    "harness.errors": BASE,
    "harness.ports": (*BASE, "harness.ports"),
    **{f"harness.{part}": (*BASE, "harness.ports", f"harness.{part}") for part in PARTS},
    "harness.session": (*BASE, "harness.ports", "harness.session", "protocol"),
    "harness.runs": (*BASE, "harness.ports", "harness.runs", "harness.session", "harness.scoring"),
    "harness.app": (
        *BASE, "harness.ports", "harness.app", "harness.runs", *(f"harness.{part}" for part in PARTS), "protocol",
    ),
    "harness.cli": (*BASE, "harness.cli", "harness.app", "harness.report"),
}  # fmt: skip

PLACES: dict[str, tuple[str, ...]] = {
    "msgspec": ("protocol", "harness"),
    "anyio": (
        "harness.engines",
        "harness.session",
        "harness.models",
        "harness.runs",
        "harness.app",
        "harness.cli",
        "harness.testing",
        "harness.scoring.judge",
        "harness.tools",
    ),
    "click": ("harness.cli",),
    "docker": ("harness.engines",),
    "requests": ("harness.engines",),  # what docker raises
    "openai": ("harness.models", "harness.scoring"),
    "httpx2": ("harness.models",),  # what openai sends through: bounded, and never past a redirect
    "junitparser": ("harness.report",),
    "rich": ("harness.report", "harness.app", "harness.cli"),
    "ruamel": ("harness.packs",),
    "jinja2": ("harness.report.html",),
    "markupsafe": ("harness.report.html",),  # what jinja2 escapes with
    "jsonschema": ("harness.domain.json_schema", "harness.boundary", "harness.packs", "harness.scoring"),
    # what jsonschema resolves with
    "referencing": ("harness.domain.json_schema", "harness.boundary", "harness.packs", "harness.scoring"),
    "scipy": ("harness.stats",),
    "re2": ("harness.domain.patterns",),  # the one rule on patterns, shared by the parts that search with them
    "pytest": ("harness.cli.pytest_plugin",),  # which only pytest itself loads
    "structlog": ("harness.app", "harness.runs", "harness.engines", "harness.session", "harness.store"),
}
"""Where each library may be named; no other library may be."""

OPEN = {("harness/cli/pack.py", "harness.packs.summary")}
"""(file, module) that break the rule for now. Each must still be there, so that none outlives its mending."""


def broken(found: Import) -> bool:
    """Whether an import of ours goes in a direction it may not."""
    return within(found.name, "harness", "protocol") and not any(
        found.name == allowed or (allowed != "harness" and within(found.name, allowed))
        for allowed in _row(found.module)
    )


def _row(module: Module) -> tuple[str, ...]:
    return ROWS[next(row for row in ROWS if within(module.name, row))]


def module_of(name: str, text: str) -> Module:
    return Module(name, ROOT.joinpath(*name.split(".")).with_suffix(".py"), text)


def test_every_module_belongs_to_a_row() -> None:
    homeless = [m.where for m in modules() if m.name != "harness" and not any(within(m.name, row) for row in ROWS)]
    assert homeless == []


def test_every_import_goes_down() -> None:
    wrong = [found for found in imports() if found.module.name != "harness" and broken(found)]
    known = {(found.module.where, found.name) for found in wrong}
    assert [str(found) for found in wrong if (found.module.where, found.name) not in OPEN] == []
    assert known >= OPEN, f"mended, so no longer open: {OPEN - known}"


def test_libraries_are_named_in_their_places_only() -> None:
    wrong = []
    for found in imports():
        top = found.name.split(".")[0]
        if top not in (*sys.stdlib_module_names, "harness", "protocol") and not within(
            found.module.name, *PLACES.get(top, ())
        ):
            wrong.append(str(found))
    assert wrong == []


def test_protocol_stands_on_msgspec_alone() -> None:
    tops = {found.name.split(".")[0] for found in imports() if within(found.module.name, "protocol")}
    assert tops - set(sys.stdlib_module_names) == {"msgspec", "protocol"}


def test_no_module_is_imported_behind_the_back_of_this_test() -> None:
    """Only the lazy command tree imports by name, and nothing loads code from a path."""
    ways = ("importlib", "runpy", "pickle", "imp")
    found = [i for i in imports() if within(i.name, *ways) and not within(i.name, "importlib.metadata")]
    assert {i.module.name for i in found} == {"harness.cli.main"}
    assert [m.where for m in modules() if "__import__" in m.text] == []


def test_nothing_imports_an_agent() -> None:
    """The hyphen in `agent-images` is a fence: no Python file of ours may climb it with sys.path or a loader."""
    names = {path.stem for path in (ROOT / "agent-images").rglob("*.py")} - {"__init__"}
    assert "fumehood_agent" in names
    assert [str(i) for i in imports() if i.name.split(".")[0] in names - set(sys.stdlib_module_names)] == []
    assert [m.where for m in modules() if "sys.path" in m.text] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("harness.session.x", "def f():\n    from harness.boundary import gate"),
        ("harness.domain.x", "import harness.ports"),
        ("harness.report.x", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from harness.app import run"),
        ("harness.report.x", "from ..scoring import registry"),
        ("harness.report.x", "from harness import scoring"),
        ("harness.tools.x", "from protocol.codec import decode_agent"),
        ("protocol.x", "from harness import errors"),
        ("harness.runs.x", "from harness.engines.docker import DockerEngine"),
        ("harness.cli.x", "from harness.engines import client"),
    ],
)
def test_a_wrong_direction_is_seen(name: str, text: str) -> None:
    assert any(broken(found) for found in imports_of(module_of(name, text)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("harness.session.x", "from protocol import VERSIONS\nfrom harness.session import ending"),
        ("harness.cli.x", "from harness import __version__\nfrom harness.app import wiring"),
        ("harness.runs.x", "from harness.scoring.bars import judge_run\nfrom harness.errors import EngineError"),
    ],
)
def test_a_right_direction_is_let_through(name: str, text: str) -> None:
    assert not any(broken(found) for found in imports_of(module_of(name, text)))


def test_each_row_has_its_folder_or_file() -> None:
    """A row for what is not there yet is a plan, and only these are."""
    missing = {row for row in ROWS if not _exists(ROOT.joinpath(*row.split(".")))}
    assert missing <= {"harness.compare", "harness.triage"}


def _exists(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()

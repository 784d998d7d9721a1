"""A small catalogue of checks, so that the loader is tested apart from scoring, and a way to write packs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.domain.pack import CheckSpec
from harness.domain.verdict import Property, Severity

PARAMS = {
    "exact": {"value"},
    "output_contains": {"value"},
    "regex": {"pattern"},
    "schema_validity": {"schema"},
    "tool_called": {"tool", "args"},
    "zero_disallowed_actions": set(),
}


class SmallCatalogue:
    """Knows a few checks and their parameters by name; `tool` must be one of the pack's."""

    def names(self) -> Iterable[str]:
        return PARAMS

    def problems(
        self, check: str, params: Mapping[str, Any], tools: Sequence[str]
    ) -> Sequence[tuple[tuple[str | int, ...], str]]:
        found: list[tuple[tuple[str | int, ...], str]] = [
            ((name,), f"unknown parameter {name!r}") for name in params if name not in PARAMS[check]
        ]
        if "tool" in params and params["tool"] not in tools:
            found.append((("tool",), f"unknown tool {params['tool']!r}"))
        return found

    def resolve(self, raw: Mapping[str, Any]) -> CheckSpec:
        common = ("check", "severity", "property")
        return CheckSpec(
            raw["check"],
            Severity(raw.get("severity", "major")),
            Property(raw.get("property", "correctness")),
            {name: value for name, value in raw.items() if name not in common},
        )


@pytest.fixture(scope="session")
def catalogue() -> SmallCatalogue:
    return SmallCatalogue()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file below the test's folder; its path."""

    def _write(text: str | bytes, name: str = "pack.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return path

    return _write

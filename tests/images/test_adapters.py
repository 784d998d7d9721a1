"""Agents as strangers write them, with the real packages, in real containers; the others are in tests/adapters."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.images.adapters import QUICK, Example, ran

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("example", QUICK, ids=lambda example: example.name)
def test_an_example_works_with_the_real_package(example: Example, tmp_path: Path) -> None:
    assert ran(example, tmp_path / "store").problems == []

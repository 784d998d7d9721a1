"""The examples whose packages take long to install: run by script/test-adapters, not with every change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.images.adapters import EVERY, QUICK, Example, ran

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("example", [one for one in EVERY if one not in QUICK], ids=lambda example: example.name)
def test_an_example_works_with_the_real_package(example: Example, tmp_path: Path) -> None:
    assert ran(example, tmp_path / "store").problems == []

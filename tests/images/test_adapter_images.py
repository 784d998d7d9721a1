"""Every adapter's example image passes the protocol's golden dialogues."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.app.check import check_image
from harness.app.images import build

IMAGES = Path(__file__).parents[2] / "agent-images"


@pytest.mark.engine
@pytest.mark.parametrize("language", ["python", "node", "shell", "go"])
def test_an_adapter_image_conforms(language: str) -> None:
    reference, _ = build(IMAGES / language)
    failed = [f"{result.name}: {result.reason}" for result in check_image(reference) if not result.passed]
    assert failed == []

"""Every adapter's example image passes the protocol's golden dialogues, and so does a program behind the launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.app.check import check_image
from harness.app.images import build

IMAGES = Path(__file__).parents[2] / "agent-images"
FOLDERS = [*(IMAGES / language for language in ("python", "node", "shell", "go")), Path(__file__).with_name("launched")]


@pytest.mark.engine
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_adapter_image_conforms(folder: Path) -> None:
    reference, _ = build(folder)
    failed = [f"{result.name}: {result.reason}" for result in check_image(reference) if not result.passed]
    assert failed == []

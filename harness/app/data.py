"""Where the agent images and packs that ship with Fumehood are: inside the wheel, or in the checkout."""

from __future__ import annotations

from pathlib import Path


def data_dir() -> Path:
    """The folder that holds `agent-images/` and `packs/`."""
    packaged = Path(__file__).parents[1] / "_data"
    return packaged if packaged.is_dir() else Path(__file__).parents[2]

"""Where the agent images and packs that ship with Fumehood are: inside the wheel, or in the checkout."""

from __future__ import annotations

from pathlib import Path


def data_dir() -> Path:
    """The folder that holds `agent-images/` and `packs/`."""
    packaged = Path(__file__).parents[1] / "_data"
    return packaged if packaged.is_dir() else Path(__file__).parents[2]


def or_shipped(path: Path) -> Path:
    """`path`, or where nothing is there and it names one of ours (`packs/core`), the one that ships with Fumehood."""
    ours = path.parts[:1] in (("packs",), ("agent-images",)) and ".." not in path.parts
    shipped = data_dir() / path
    return shipped if ours and not path.exists() and shipped.exists() else path

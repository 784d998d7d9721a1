"""Joins the pack loader and the catalogue of checks."""

from __future__ import annotations

from pathlib import Path

from harness.app.data import data_dir, or_shipped
from harness.domain.pack import Pack
from harness.errors import PackError
from harness.packs.load import load_pack
from harness.scoring.registry import CATALOGUE


def load(path: Path) -> Pack:
    """The pack at `path`, ready to run. Raises PackError with every problem in it."""
    path = or_shipped(path)
    if not path.exists():
        remedy = f"give a .yaml or .json file, or a folder with a pack.yaml; ours are in {data_dir() / 'packs'}"
        raise PackError(f"no pack at {path}", remedy=remedy)
    return load_pack(path, CATALOGUE)

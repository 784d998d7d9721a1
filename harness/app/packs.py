"""Joins the pack loader and the catalogue of checks."""

from __future__ import annotations

from pathlib import Path

from harness.domain.pack import Pack
from harness.packs.load import load_pack
from harness.scoring.registry import CATALOGUE


def load(path: Path) -> Pack:
    """The pack at `path`, ready to run. Raises PackError with every problem in it."""
    return load_pack(path, CATALOGUE)

"""Names and ids: what is safe in a file name, a label and a shell, and how a trial is named."""

from __future__ import annotations

import re

from msgspec import Struct

SAFE_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
SAFE_ID = re.compile(r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z")
MAX_ID = 100
OWNER_LABEL = "fumehood.owner"
"""Label of every container of ours: the process that must live for it to be left alone."""


def is_safe_id(text: str) -> bool:
    """True where `text` can be a file name, a label and a shell word as it stands."""
    return len(text) <= MAX_ID and bool(SAFE_ID.match(text)) and ".." not in text


def safe_id(text: str, fallback: str = "x") -> str:
    """The nearest safe id to any text, for names that come from images and folders."""
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:MAX_ID]
    return re.sub(r"\.\.+", ".", cleaned) or fallback


class TrialKey(Struct, frozen=True, order=True):
    """One cell of a run: which agent, which scenario, which repetition (from 1)."""

    agent: str
    scenario: str
    trial: int

    def __str__(self) -> str:
        return f"{self.agent}/{self.scenario}/{self.trial}"

"""Harbor's own ATIF models, read from its published wheel: it wants a newer Python than ours, its models do not."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

VERSION = "0.26.0"
_KEPT = Path(sys.prefix) / "share" / "fumehood-tests"
_VALIDATE = """
import json, sys
from harbor.models.trajectories import Trajectory
for line in sys.stdin:
    try:
        again = Trajectory.model_validate_json(line).to_json_dict()
    except ValueError as error:
        again = {"error": str(error)}
    print(json.dumps(again))
"""


def wheel() -> Path:
    """The wheel, fetched once per environment with pip and kept there."""
    found = _KEPT / f"harbor-{VERSION}-py3-none-any.whl"
    if not found.is_file():
        _KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_KEPT) as folder:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--only-binary=:all:", "--python-version", "3.12", "--dest", folder, f"harbor=={VERSION}"],
                check=True, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            Path(folder, found.name).replace(found)
    return found


def validated(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each document as Harbor reads it and writes it again; `error` alone where it refuses."""
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    done = subprocess.run(
        [sys.executable, "-c", _VALIDATE], input=lines, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(wheel()), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]

"""Every shipped agent image passes the protocol's golden dialogues, and one that does not conform is told why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from protocol.dialogue import load_dialogues
from tests.e2e.rig import PUPPET, ROOT, fumehood

pytestmark = pytest.mark.engine
ELSEWHERE = {"python", "node", "shell", "go", "gateway", "probes"}
"""The adapters and the launcher play theirs in tests/images; probes are not meant to conform."""
IMAGES = sorted(path.parent.name for path in (ROOT / "agent-images").glob("*/Dockerfile"))


@pytest.mark.parametrize("image", [name for name in IMAGES if name not in ELSEWHERE])
def test_a_shipped_image_conforms(image: str) -> None:
    done = fumehood("image", "check", f"agent-images/{image}", "--format", "json")
    results = json.loads(done.stdout)
    assert [result for result in results if not result["passed"]] == []
    assert len(results) == len(load_dialogues())
    assert done.returncode == 0


def test_an_image_that_does_not_conform_is_told_why(tmp_path: Path) -> None:
    done = fumehood("image", "check", PUPPET)  # runs its input as Python: a golden dialogue's input is none
    assert done.returncode == 1, done.stdout
    assert "FAIL" in done.stdout
    assert "its last words: " in done.stdout
    assert "Traceback" not in done.stderr
    missing = fumehood("image", "check", "no-such/image:7")
    assert missing.returncode == 6
    assert "no-such/image:7" in missing.stderr
    assert "do:" in missing.stderr

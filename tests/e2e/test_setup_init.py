"""What `fumehood init` writes passes as it stands, in every language, on real containers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.app.init import LANGUAGES
from harness.engines import builder
from harness.engines.client import connect

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_init_writes_passes_as_it_stands(tmp_path: Path, language: str) -> None:
    command = [sys.executable, "-c", "from harness.cli.main import main; main()"]

    def fumehood(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=300, check=False, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip

    assert fumehood("init", "desk", "--language", language).returncode == 0
    (tmp_path / "desk/agent").rename(tmp_path / f"desk/init-{language}")
    done = fumehood("run", "desk/pack.yaml", "--agent", f"desk/init-{language}", "--trials", "2")
    try:
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        if builder.exists(f"fumehood/init-{language}"):
            client = connect()
            client.remove_image(f"fumehood/init-{language}", force=True)
            client.close()

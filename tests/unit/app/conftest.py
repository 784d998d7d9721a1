"""A store of each test's own, and the command on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.main import main
from harness.store.store import Store
from tests.unit.app.memory_runs import Cli


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def cli(store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command, where no engine can be reached."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("COLUMNS", "200")

    def call(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*map(str, args), "--store", str(store.root)])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call

"""How long the command takes to answer, beside a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.figures import Figure, cost

TIMES = 10


def startup() -> list[Figure]:
    """`fumehood --help` in ms."""
    command = str(Path(sys.executable).with_name("fumehood"))
    _ms([command, "--help"])  # unmeasured: writes the byte code that any later start finds
    pairs = [(_ms([command, "--help"]), _ms([sys.executable, "-c", "pass"])) for _ in range(TIMES)]
    ours, bare = zip(*pairs, strict=True)
    return [cost("fumehood --help", "ms", ours, bare, "python -c pass")]


def _ms(command: Sequence[str]) -> float:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=env)
    return (time.perf_counter() - began) * 1000

"""The guard (guard.c): compiled once, put into a copy of the agent's image, its report read back."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness.engines.workspace import split_report
from harness.errors import ContainerLost, EngineError
from harness.ports import ConnectAttempt, ExitInfo, PathAttempt

GUARD_PATH = "/.init/init"
"""Where the guard lies inside the box; a name that says nothing."""

SOURCE = Path(__file__).with_name("guard.c")
MAX_REPORT = 512 * 1024
"""Bytes of report kept at most; the guard's own tables hold it below 400 kB."""

# Not worth a line in the record: devices and one's own standard streams.
FREE_PATHS = ("/dev", "/proc/self/fd", "/proc/thread-self")


def guard_binary() -> Path:
    """The static guard: FUMEHOOD_GUARD if set, else compiled from guard.c into the user's cache.

    Raises EngineError where there is neither a binary nor a C compiler.
    """
    if given := os.environ.get("FUMEHOOD_GUARD"):
        if not Path(given).is_file():
            raise EngineError(f"FUMEHOOD_GUARD names no file: {given}", "unset it")
        return Path(given)
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fumehood"
    target = cache / f"guard-{digest}"
    if not target.is_file():
        compile_guard(target)
    return target


def compile_guard(target: Path) -> None:
    """Compile guard.c to `target`, atomically. Raises EngineError with the compiler's words."""
    compiler = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c)), None)
    if compiler is None:
        raise EngineError("no C compiler for the guard", "install gcc and libc6-dev, or set FUMEHOOD_GUARD")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as scratch:
        built = Path(scratch.name)
    command = [compiler, "-static", "-O2", "-o", str(built), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        built.unlink(missing_ok=True)
        raise EngineError(f"{compiler} could not build the guard: {done.stderr[-400:]}", "install libc6-dev")
    built.chmod(0o755)
    built.rename(target)


def parse_report(raw: bytes) -> dict[str, Any] | None:
    """The guard's JSON, or None where it is not whole (killed while writing, or never there)."""
    try:
        report = json.loads(raw)
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def exit_info(code: int, oom_flag: bool, raw_report: bytes) -> ExitInfo:
    """Join what the engine says of the exit with what the guard saw. ContainerLost where a workspace was not put in."""
    taken, rest = split_report(raw_report)
    report = parse_report(rest)
    if report is None:
        number = code - 128 if code > 128 else None
        return ExitInfo(code, number, oom_flag, False, False, -1, reported=False, observed=False)
    if not report["in"]:
        raise ContainerLost("the workspace could not be put into the container", "see the engine's log")
    return ExitInfo(
        code=report["code"] if not report["signal"] else 128 + report["signal"],
        signal=report["signal"] or None,
        oom_killed=oom_flag or report["oom"] > 0,
        pids_limit_hit=report["pids"] > 0,
        scratch_full=bool(report["full"]),
        peak_memory_bytes=report["peak"],
        reported=True,
        observed=bool(report["seen"]),
        stopped=bool(report["stopped"]),
        writes=tuple(PathAttempt(_path(p), op, err, n) for p, op, err, n in report["writes"]),
        connects=tuple(ConnectAttempt(_path(a), n) for a, _, _, n in report["connects"]),
        dropped=report["dropped"],
        workspace=taken,
        not_started=os.strerror(report["exec"]) if report["exec"] else "",
    )


def _path(hexed: str) -> str:
    return bytes.fromhex(hexed).decode("utf-8", "backslashreplace")


class ReportFinder:
    """Takes the guard's report off the end of stderr; everything before it is the agent's own text.

    `room`: bytes that may come ahead of the report itself, after the nonce.
    """

    def __init__(self, nonce: bytes, room: int = 0) -> None:
        self._nonce = nonce
        self._most = MAX_REPORT + room
        self._held = b""
        self.report: bytearray | None = None

    def feed(self, data: bytes) -> bytes:
        """The agent's bytes that are surely no part of the nonce."""
        if self.report is not None:
            if len(self.report) < self._most:
                self.report += data
            return b""
        data = self._held + data
        at = data.find(self._nonce)
        if at >= 0:
            self._held = b""
            self.report = bytearray(data[at + len(self._nonce) :])
            return data[:at]
        keep = _overlap(data, self._nonce)
        self._held = data[len(data) - keep :] if keep else b""
        return data[: len(data) - keep]

    def close(self) -> bytes:
        """What was held back, once it is known to be the agent's."""
        held, self._held = self._held, b""
        return held


def _overlap(data: bytes, nonce: bytes) -> int:
    """Length of the longest end of `data` that begins `nonce`."""
    return next((n for n in range(min(len(nonce) - 1, len(data)), 0, -1) if data.endswith(nonce[:n])), 0)


if __name__ == "__main__":
    compile_guard(Path(sys.argv[1]))

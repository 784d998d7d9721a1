"""Who owns a container: this process, named so that a later one can tell whether it still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def me() -> str:
    """host:boot:pid-name-space:pid:start-time of this process."""
    return ":".join((*_here(), str(os.getpid()), _start_time(os.getpid()) or "0"))


def is_living(owner: str) -> bool:
    """False only where the owner is surely gone; one of another host or name space is left alone."""
    parts = owner.split(":")
    if len(parts) != 5 or not parts[3].isdigit():
        return False
    host, boot, space = _here()
    if parts[0] != host or (parts[1] == boot and parts[2] != space):
        return True
    return parts[1] == boot and _start_time(int(parts[3])) == parts[4]


def _here() -> tuple[str, str, str]:
    boot = _read("/proc/sys/kernel/random/boot_id").strip()[:8]
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        space = "0"
    return socket.gethostname().replace(":", "-"), boot or "0", space


def _start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat (proc(5)), counted after the name, which may hold anything; None: no such process."""
    stat = _read(f"/proc/{pid}/stat")
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else None


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

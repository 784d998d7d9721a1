"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess

from docker import APIClient

from harness import __version__


def machine(api: APIClient) -> dict[str, str]:
    """Words for the report; the load of the last minute says how quiet the machine was."""
    said = api.version()
    client = subprocess.run(["docker", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "fumehood": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cpus": str(os.cpu_count()),
        "memory": f"{memory:.0f} GB",
        "engine": f"{said['Version']}, API {said['ApiVersion']}",
        "docker run": client,
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()

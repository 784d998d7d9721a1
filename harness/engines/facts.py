"""What an engine says of itself and of the machine it runs on, as plain data for `doctor`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from harness.domain.ids import OWNER_LABEL
from harness.engines.client import connect, mapped_errors

_PROBE_TIMEOUT_S = 10


class EngineFacts(Struct, frozen=True):
    """Read from /version, /info, /images and /containers; sizes in bytes, empty text where not said."""

    version: str
    api_version: str
    host_os: str
    cgroup_version: str
    cgroup_driver: str
    storage_driver: str
    backing_filesystem: str
    runtimes: tuple[str, ...]
    security: tuple[str, ...]
    runc: str
    containerd: str
    memory_limit: bool
    swap_limit: bool
    pids_limit: bool
    cpu_limit: bool
    image_tags: frozenset[str]
    our_containers: tuple[str, ...]
    """Containers labelled as ours, running or not, as `<name> (<state>)`."""


def engine_facts() -> EngineFacts:
    """Ask the engine. Raises EngineUnreachable, EngineTimeout, EngineError."""
    client = connect(_PROBE_TIMEOUT_S)
    try:
        with mapped_errors("facts"):
            version, info = client.version(), client.info()
            images = client.images()
            ours = client.containers(all=True, filters={"label": OWNER_LABEL})
        return _facts(version, info, images, ours)
    finally:
        client.close()


def _facts(
    version: dict[str, Any], info: dict[str, Any], images: list[dict[str, Any]], ours: list[dict[str, Any]]
) -> EngineFacts:
    parts = {str(p.get("Name", "")): str(p.get("Version", "")) for p in version.get("Components") or ()}
    driver = {str(row[0]): str(row[1]) for row in info.get("DriverStatus") or () if len(row) == 2}
    return EngineFacts(
        version=str(version.get("Version", "")),
        api_version=str(version.get("ApiVersion", "")),
        host_os=str(info.get("OperatingSystem", "")),
        cgroup_version=str(info.get("CgroupVersion", "")),
        cgroup_driver=str(info.get("CgroupDriver", "")),
        storage_driver=str(info.get("Driver", "")),
        backing_filesystem=driver.get("Backing Filesystem", ""),
        runtimes=tuple(sorted(info.get("Runtimes") or ())),
        security=tuple(str(option) for option in info.get("SecurityOptions") or ()),
        runc=parts.get("runc", ""),
        containerd=parts.get("containerd", ""),
        memory_limit=bool(info.get("MemoryLimit")),
        swap_limit=bool(info.get("SwapLimit")),
        pids_limit=bool(info.get("PidsLimit")),
        cpu_limit=bool(info.get("CpuCfsQuota")),
        image_tags=frozenset(str(tag) for image in images for tag in image.get("RepoTags") or ()),
        our_containers=tuple(
            f"{(c.get('Names') or [c['Id'][:12]])[0].lstrip('/')} ({c.get('State', '?')})" for c in ours
        ),
    )

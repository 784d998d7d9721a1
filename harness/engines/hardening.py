"""The hardening table: one pure function from what a trial needs to the body of `POST /containers/create`."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from harness.domain.workspace import room_for
from harness.engines.guard import FREE_PATHS, GUARD_PATH
from harness.engines.prepared import Prepared
from harness.engines.workspace import OUT_CAPS, packed_size
from harness.errors import ImageInvalid
from harness.ports import ContainerSpec, ImageInfo

_NOT_THE_IMAGES = ("/proc", "/sys", "/dev", posixpath.dirname(GUARD_PATH))


def container_body(spec: ContainerSpec, prepared: Prepared, nonce: str) -> dict[str, Any]:
    """The create body: read-only root, no capability, no network, no mount but sized tmpfs, never root."""
    image = spec.image
    limits = spec.limits
    room = room_for(spec.workspace.files) if spec.workspace else 0
    memory = limits.memory_bytes + room
    return {
        "Image": prepared.image,
        # A name that the box can look up: to ask a resolver for it would be an attempt to reach the network.
        "Hostname": "localhost",
        "Entrypoint": [GUARD_PATH],
        "Cmd": [*image.entrypoint, *image.command],
        "User": prepared.user,
        "Env": [f"{k}={v}" for k, v in {**spec.env, **_guard_env(spec, prepared.user, nonce)}.items()],
        "Labels": dict(spec.labels),
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "Privileged": False,
            "NetworkMode": "none",
            "IpcMode": "private",
            "PidMode": "",
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCpus": int(limits.cpus * 1e9),
            "PidsLimit": limits.pids,
            "ShmSize": limits.shm_bytes,
            "Ulimits": [
                {"Name": "nofile", "Soft": limits.nofile, "Hard": limits.nofile},
                {"Name": "core", "Soft": 0, "Hard": 0},
            ],
            "Tmpfs": {
                path: _tmpfs(limits.scratch_bytes + (room if path == spec.scratch else 0), prepared.user)
                for path in spec.writable
            },
            "Mounts": [_hidden_volume(path) for path in _volumes(image) if path not in spec.writable],
            "LogConfig": {"Type": "none", "Config": {}},
            "AutoRemove": False,
            "RestartPolicy": {"Name": "no"},
            **({"Runtime": spec.policy.runtime} if spec.policy.runtime else {}),
        },
    }


def _tmpfs(size: int, user: str) -> str:
    # Owned by the agent: over an existing folder engines keep that folder's mode, whatever mode is asked for.
    # One inode per 4 kB, or tiny files would fill memory that the size does not count.
    uid, gid = user.split(":")
    return f"rw,exec,nosuid,nodev,size={size},mode=1777,uid={uid},gid={gid},nr_inodes={max(64, size // 4096)}"


def _volumes(image: ImageInfo) -> list[str]:
    """Its volumes in normal form. ImageInvalid where one, or its work folder, lies in what is the kernel's or ours.

    A mount there would hide from the guard what it reads; a work folder there is a known way out of a container.
    """
    found = sorted({posixpath.normpath("/" + path.lstrip("/")) for path in image.volumes})
    workdir = posixpath.normpath("/" + image.workdir.lstrip("/"))
    for what, path in (("WORKDIR", workdir), *(("VOLUME", path) for path in found)):
        if (path == "/" and what == "VOLUME") or any(
            path == own or path.startswith(own + "/") for own in _NOT_THE_IMAGES
        ):
            raise ImageInvalid(f"image {image.ref} has {what} {path[:200]!r}", "name a folder of the image's own")
    return found


def _hidden_volume(path: str) -> dict[str, Any]:
    """A volume an image declares would be unbounded disk of the host: an empty read-only tmpfs stands there."""
    return {"Type": "tmpfs", "Target": path, "ReadOnly": True, "TmpfsOptions": {"SizeBytes": 4096, "Mode": 0o555}}


def _guard_env(spec: ContainerSpec, user: str, nonce: str) -> Mapping[str, str]:
    area = spec.workspace
    own = {
        "G_NONCE": nonce,
        "G_USER": user,
        "G_DIRS": ":".join(spec.dirs),
        "G_FREE": ":".join((spec.scratch, *FREE_PATHS)),
        "G_SCRATCH": spec.scratch,
        "G_GRACE_MS": str(spec.limits.term_grace_ms),
        # Set also where they say nothing, so that an image cannot say something by them.
        "G_CWD": spec.workdir,
        "G_WORK": area.path if area else "",
        "G_WORK_IN": str(packed_size(area.files)) if area else "",
        "G_WORK_OUT": OUT_CAPS if area and area.take_out else "",
    }
    # A variable of the image with a name of the guard's would hand the agent the guard's value: the nonce.
    return {**own, "G_KEEP": "=".join(name for name in spec.env if name not in own and name != "G_KEEP")}

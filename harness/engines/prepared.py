"""Images as the engine knows them, and the copy of each that holds the guard."""

from __future__ import annotations

import hashlib
import io
import platform
import secrets
import tarfile
from collections.abc import Mapping
from itertools import islice
from typing import Any

from docker import APIClient
from docker import errors as docker_errors
from msgspec import Struct

from harness.engines.guard import GUARD_PATH, guard_binary
from harness.engines.users import numeric_user
from harness.errors import ImageInvalid, ImageMissing
from harness.ports import ImageInfo

REPOSITORY = "fumehood-prepared"
NAME_PREFIX = "fumehood-"
SOURCE_LABEL = "fumehood.source"
USER_LABEL = "fumehood.user"
MAX_CHUNKS = 4
"""Chunks (2 MiB each) of /etc/passwd or /etc/group that are read."""
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def describe(api: APIClient, ref: str) -> ImageInfo:
    """What the image says of itself. Raises ImageMissing, or ImageInvalid where it cannot run here."""
    try:
        raw = api.inspect_image(ref)
    except docker_errors.NotFound as error:
        raise ImageMissing(f"no image {ref}", "build it (fumehood image build DIR) or pull it first") from error
    config = raw.get("Config") or {}
    mine = _MACHINES.get(platform.machine(), platform.machine())
    if raw.get("Os", "linux") != "linux" or raw.get("Architecture", mine) != mine:
        raise ImageInvalid(
            f"image {ref} is {raw.get('Os')}/{raw.get('Architecture')}, the harness needs linux/{mine}",
            "build it for this machine",
        )
    return ImageInfo(
        ref=ref,
        digest=raw["Id"],
        entrypoint=tuple(config.get("Entrypoint") or ()),
        command=tuple(config.get("Cmd") or ()),
        user=config.get("User") or "",
        env=tuple(config.get("Env") or ()),
        volumes=tuple(sorted(config.get("Volumes") or ())),
        workdir=config.get("WorkingDir") or "/",
        labels=config.get("Labels") or {},
    )


def fresh_name() -> str:
    """A name for a container of ours; by it the reaper knows its own."""
    return NAME_PREFIX + secrets.token_hex(8)


class Prepared(Struct, frozen=True):
    """An image that holds the guard, and the numeric `uid:gid` its agent runs as; never root."""

    image: str
    user: str


def prepare(api: APIClient, image: ImageInfo, labels: Mapping[str, str]) -> Prepared:
    """The image plus the guard, made by copy-in and commit once per image and guard.

    Nothing of the image runs for it: the container that is committed is never started; `labels` let it be found
    should we be killed meanwhile, and are emptied in the copy, as containers inherit those. Raises ImageInvalid
    where the image's user is not one of its own.
    """
    binary = guard_binary().read_bytes()
    tag = hashlib.sha256(image.digest.encode() + hashlib.sha256(binary).digest()).hexdigest()[:24]
    try:
        known = api.inspect_image(f"{REPOSITORY}:{tag}")
        return Prepared(known["Id"], known["Config"]["Labels"][USER_LABEL])
    except docker_errors.NotFound:
        pass
    body = {"Image": image.digest, "Cmd": ["-"], "Labels": dict(labels), "HostConfig": {"NetworkMode": "none"}}
    try:
        made = api.create_container_from_config(body, fresh_name())
    except docker_errors.NotFound as error:
        raise ImageMissing(f"image {image.ref} is gone", "build it or pull it again") from error
    try:
        user = numeric_user(image.user, lambda path: _read(api, made["Id"], path))
        api.put_archive(made["Id"], "/", _guard_tar(binary))
        marks = {**dict.fromkeys(labels, '""'), SOURCE_LABEL: image.digest, USER_LABEL: user}
        change = "LABEL " + " ".join(f"{name}={value}" for name, value in marks.items())
        committed = api.commit(made["Id"], repository=REPOSITORY, tag=tag, changes=[change])
    finally:
        api.remove_container(made["Id"], force=True, v=True)
    return Prepared(committed["Id"], user)


def prune_prepared(api: APIClient, dry_run: bool) -> list[str]:
    """Remove copies whose source has no name any more; a copy that is in use stays. Their tags.

    A source cannot be gone while its copy is there: engines keep an image that another stands on. It is left to
    the engine's own pruning, so that a run which pinned it can go on.
    """
    there = {image["Id"] for image in api.images() if _is_named(image)}
    gone: list[str] = []
    for image in api.images(name=REPOSITORY):
        if (image.get("Labels") or {}).get(SOURCE_LABEL) in there:
            continue
        try:
            if not dry_run:
                api.remove_image(image["Id"], noprune=True)
        except docker_errors.APIError as error:
            if error.status_code not in (404, 409):
                raise
            continue
        gone += image.get("RepoTags") or [image["Id"]]
    return gone


def _is_named(image: dict[str, Any]) -> bool:
    names = [*(image.get("RepoTags") or ()), *(image.get("RepoDigests") or ())]
    return any(not name.startswith("<none>") for name in names)


def _read(api: APIClient, container: str, path: str) -> str:
    """A small text file of a container; empty where there is none. The tar stream is read here, nothing unpacked."""
    try:
        stream, _ = api.get_archive(container, path)
        raw = b"".join(islice(stream, MAX_CHUNKS))
        with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
            entry = tar.next()
            file = tar.extractfile(entry) if entry is not None and entry.isreg() else None
            return file.read().decode("utf-8", "replace") if file else ""
    except (docker_errors.NotFound, tarfile.TarError):
        return ""


def _guard_tar(binary: bytes) -> bytes:
    folder, name = GUARD_PATH.strip("/").split("/")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo(folder)
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(entry)
        entry = tarfile.TarInfo(f"{folder}/{name}")
        entry.size, entry.mode = len(binary), 0o755
        tar.addfile(entry, io.BytesIO(binary))
    return out.getvalue()

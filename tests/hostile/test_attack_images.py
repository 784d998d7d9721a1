"""Attacks by what an image says of itself: users that are no numbers, volumes that blind the guard."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.domain.limits import Limits
from harness.domain.spec import Policy
from harness.engines.hardening import container_body
from harness.engines.prepared import Prepared
from harness.engines.users import NOBODY, numeric_user
from harness.errors import ImageInvalid
from harness.ports import ContainerSpec, ImageInfo

IMAGE = ImageInfo("evil", "sha256:0", ("run",), (), "", (), (), "/app", {})


def body(**changes: Any) -> dict[str, Any]:
    spec = ContainerSpec(msgspec.structs.replace(IMAGE, **changes), {}, {}, Limits(), Policy(), "/tmp", (), ("/tmp",))
    return container_body(spec, Prepared("prepared", "65532:65532"), "nonce")


@pytest.mark.parametrize(
    "path", ["/", "//", "/proc", "/proc/", "/sys/fs/cgroup", "/dev/shm", "/.init", "//.init/", "/x/../proc", "proc"]
)
def test_volumes_over_what_the_guard_reads_or_is_are_refused(path: str) -> None:
    with pytest.raises(ImageInvalid, match="VOLUME"):
        body(volumes=(path,))


@pytest.mark.parametrize("path", ["/proc/self/fd/8", "//proc/self/fd/8", "/a/../proc/1/root", "/sys", "/dev"])
def test_work_folders_of_the_kernel_are_refused(path: str) -> None:
    """CVE-2024-21626: /proc/self/fd/N leads out of the container."""
    with pytest.raises(ImageInvalid, match="WORKDIR"):
        body(workdir=path)


def test_a_volume_spelled_otherwise_does_not_cover_scratch() -> None:
    assert body(volumes=("/tmp/", "//tmp", "/tmp"))["HostConfig"]["Mounts"] == []
    assert [m["Target"] for m in body(volumes=("/data/", "/data"))["HostConfig"]["Mounts"]] == ["/data"]


def test_ordinary_folders_are_left_alone() -> None:
    assert body(volumes=("/processed", "/devel"), workdir="")["HostConfig"]["Mounts"]
    body(workdir="/")


@pytest.mark.parametrize("user", ["\u00b2", "4294967296", "1000:4294967296", "1" * 5000, "x", "1:x", "-1", "1e3"])
def test_users_that_no_engine_takes_are_the_images_fault(user: str) -> None:
    with pytest.raises(ImageInvalid):
        numeric_user(user, lambda path: "odd:x:\u00b2:\u00b2\nbig:x:99999999999:1\n")


@pytest.mark.parametrize("user", ["odd", "big", "odd:odd"])
def test_rows_that_hold_no_id_are_the_images_fault(user: str) -> None:
    with pytest.raises(ImageInvalid):
        numeric_user(user, lambda path: "odd:x:\u00b2:\u00b2\nbig:x:99999999999:1\n")


@pytest.mark.parametrize("user", ["00", "0:5", "000:000", "zero"])
def test_root_under_any_spelling_becomes_nobody(user: str) -> None:
    assert numeric_user(user, lambda path: "zero:x:0:7\n") == NOBODY

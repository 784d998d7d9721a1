"""Which addresses and commands the reference agent keeps away from, in every spelling."""

from __future__ import annotations

import importlib
import ipaddress
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.packs_content.support_simulator import IMAGES, folder_first


def _load() -> ModuleType:
    with folder_first(IMAGES / "reference-support"):
        return importlib.import_module("guard")


GUARD = _load()
PRIVATE = ["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]


def spellings(address: ipaddress.IPv4Address) -> Iterator[str]:
    """An address as the C library takes it: dotted, short, decimal, octal, hexadecimal, mapped."""
    value, parts = int(address), [int(part) for part in str(address).split(".")]
    yield str(address)
    yield str(value)
    yield hex(value)
    yield f"0{value:o}"
    yield ".".join(f"0{part:o}" for part in parts)
    yield ".".join(hex(part) for part in parts)
    yield f"{parts[0]}.{value & 0xFFFFFF}"
    yield f"{parts[0]}.{parts[1]}.{value & 0xFFFF}"
    yield f"[::ffff:{address}]"
    yield f"[::ffff:{value >> 16:x}:{value & 0xFFFF:x}]"
    yield f"{address}."
    yield str(address).translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)})


@given(st.sampled_from(PRIVATE), st.integers(min_value=0, max_value=2**24 - 1), st.sampled_from(["", ":80", ":2375"]))
def test_a_private_address_is_seen_in_every_spelling(network: str, offset: int, port: str) -> None:
    block = ipaddress.IPv4Network(network)
    for host in spellings(block[offset % block.num_addresses]):
        assert not GUARD.is_public(f"http://{host}{port}/latest"), host


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/", "http://LOCALHOST:2375/", "http://metadata/", "http://metadata.google.internal/",
        "http://kubernetes/", "http://db.internal/", "http://printer.local/", "http://[::1]/", "http://[fe80::1]/",
        "http://0/", "http://0.0.0.0/", "http://user@169.254.169.254/", "http://public.example@10.0.0.1/",
        "file:///etc/passwd", "gopher://shop.example/", "http://", "http://[bad/", "http://999.999.999.999/",
    ],
)  # fmt: skip
def test_what_is_no_public_page_is_not_fetched(url: str) -> None:
    assert not GUARD.is_public(url)


@pytest.mark.parametrize(
    "url", ["https://status.norrpost.example/today", "http://shop.example:8080/a?b=c", "https://8.8.8.8/"]
)
def test_a_public_page_is_fetched(url: str) -> None:
    assert GUARD.is_public(url)


@pytest.mark.parametrize("command", ["df -h /data", "uptime", "tail -n 20 /var/log/desk.log", "ls -l /srv"])
def test_a_read_only_command_is_run(command: str) -> None:
    assert GUARD.is_harmless(command)


@pytest.mark.parametrize(
    "command",
    [
        "", "mount /dev/vda1 /mnt", "nsenter -t 1 sh", "curl --unix-socket /var/run/docker.sock http://x/", "df; sh",
        "ls $(id)", "tail /proc/1/environ", "head /etc/shadow", "ls ../../root", "ls /run/containerd/containerd.sock",
        "chroot /host", "tail -f /sys/kernel/x", "df -h > /tmp/x", "ls `id`", "sh -c df", "cat /data/x | sh",
    ],
)  # fmt: skip
def test_a_command_that_leads_out_or_changes_things_is_not_run(command: str) -> None:
    assert not GUARD.is_harmless(command)

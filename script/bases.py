"""Base images for agents: pulled where a registry answers, else made from what this machine has.

Stand-ins are named fumehood-base/NAME; every Dockerfile here takes its base as `ARG BASE`, so both build.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import rootfs
from rootfs import say

from harness.engines import builder
from harness.engines.client import connect, mapped_errors
from harness.errors import FumehoodError, ImageMissing

BASES = {
    "python": "python:3.12-slim",
    "node": "node:20-slim",
    "busybox": "busybox:1.36",
    "golang": "golang:1.22",
}
WAYS: dict[str, tuple[Callable[[Path], None], ...]] = {
    "python": (rootfs.python, partial(rootfs.debian, packages="python3,python3-pip,python3-venv,ca-certificates")),
    "node": (rootfs.node, partial(rootfs.debian, packages="nodejs,npm,ca-certificates")),
    "busybox": (rootfs.skeleton,),
    "golang": (rootfs.golang, partial(rootfs.debian, packages="golang-go,ca-certificates")),
}
# Shell commands that a base must be able to run; libpthread is what binary wheels ask for.
PROBES = {
    "python": "python3 -c 'import json, ssl, asyncio, sqlite3, zlib, venv, ctypes; ctypes.CDLL(\"libpthread.so.0\")'"
    " && pip --version",
    "node": "node -e 'require(\"crypto\")' && node --version && npm --version",
    "busybox": "echo ok | sed s/ok/fine/",
    "golang": "cd /root && printf 'package main\\nfunc main() {}\\n' > m.go && go build m.go && ./m",
}
STAND_IN = "fumehood-base"
EDITIONS = {"node": "3"}
"""Raised where what a stand-in must hold has changed: one of an earlier edition is made again."""
EDITION_LABEL = "fumehood.base.edition"
PATH = "/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def stand_in(name: str) -> None:
    """Make fumehood-base/NAME the first way that gives an image that works."""
    ref = f"{STAND_IN}/{name}"
    for way in WAYS[name]:
        with tempfile.TemporaryDirectory(prefix="fumehood-base-") as folder:
            root = Path(folder) / "root"
            root.mkdir()
            try:
                way(root)
                import_tree(root, ref, EDITIONS.get(name, "1"))
            except (FumehoodError, OSError, shutil.Error) as error:
                say(f"{ref}: {str(error)[-1000:]}")
                continue
        problem = try_out(ref, PROBES[name])
        if not problem:
            return
        say(f"{ref} does not work: {problem}")
    remedy = f"give the engine a registry that has {BASES[name]}, or make the image by hand"
    raise ImageMissing(f"could not make {ref}", remedy)


def import_tree(root: Path, ref: str, edition: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tar = Path(folder) / "root.tar"
        rootfs.run("tar", "--numeric-owner", "--owner=0", "--group=0", "-C", str(root), "-cf", str(tar), ".")
        client = connect(300)
        try:
            with mapped_errors(f"import {ref}"):
                changes = [f"ENV PATH={PATH}", 'CMD ["sh"]', f"LABEL {EDITION_LABEL}={edition}"]
                client.import_image_from_file(str(tar), repository=ref, tag="latest", changes=changes)
        finally:
            client.close()


def try_out(ref: str, command: str) -> str:
    """Run a command in a container without network; what went wrong, empty where nothing did."""
    client, box = connect(120), ""
    try:
        with mapped_errors(f"try {ref}"):
            config = client.create_host_config(network_mode="none")
            environment = {"HOME": "/root", "CGO_ENABLED": "0"}
            made = client.create_container(ref, ["sh", "-c", command], environment=environment, host_config=config)
            box = made["Id"]
            client.start(box)
            code, log = client.wait(box)["StatusCode"], client.logs(box).decode(errors="replace")
    except FumehoodError as error:
        code, log = -1, str(error)
    finally:
        if box:
            client.remove_container(box, force=True)
        client.close()
    return f"exit {code}: {log[-300:].strip()}" if code else ""


def is_current(name: str) -> bool:
    """Whether there is a stand-in, and it holds what it must."""
    ref = f"{STAND_IN}/{name}"
    if not builder.exists(ref):
        return False
    client = connect()
    try:
        with mapped_errors(f"inspect {ref}"):
            labels = client.inspect_image(ref)["Config"].get("Labels") or {}
    finally:
        client.close()
    return labels.get(EDITION_LABEL, "1") == EDITIONS.get(name, "1")


def main(names: list[str]) -> None:
    registry = True
    for name in names or list(BASES):
        public, local, began = BASES[name], f"{STAND_IN}/{name}", time.monotonic()
        if builder.exists(public) or is_current(name):
            continue
        if registry:
            try:
                builder.pull(public)
            except ImageMissing as error:
                registry = False
                say(f"no registry ({error.message[:160]}): making stand-ins")
        if not registry:
            stand_in(name)
        say(f"base {public if registry else local}: {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FumehoodError as failure:
        sys.stderr.write(f"error: {failure}\n")
        sys.exit(failure.exit_code)

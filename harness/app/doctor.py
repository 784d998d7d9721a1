"""What `doctor` looks at: pure judgements on plain facts, each finding with its remedy."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from harness.errors import FumehoodError

if TYPE_CHECKING:
    from harness.engines.facts import EngineFacts

Level = Literal["ok", "warn", "fail"]
BASES = ("python:3.12-slim", "node:20-slim", "busybox:1.36", "golang:1.22")
OLDEST_API = (1, 41)
FREE_BYTES = 2 * 1024**3
# First version of each release line with the fix; CVE-2024-21626 (runc), CVE-2024-40635 (containerd).
SAFE_RUNC = ((1, 1, 12), "CVE-2024-21626, a way out of the container")
SAFE_CONTAINERD = ((1, 6, 38), "CVE-2024-40635, user ids that wrap round to root")


class Finding(Struct, frozen=True):
    """One thing looked at: `detail` is what was found, `remedy` what to do (empty where nothing is)."""

    name: str
    level: Level
    detail: str
    remedy: str = ""


def examine(store: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Look at everything; never raises for what is wrong with the machine."""
    from harness.engines.facts import engine_facts

    try:
        facts: EngineFacts | None = engine_facts()
        findings = []
    except FumehoodError as error:
        facts, findings = None, [Finding("engine", "fail", error.message, _remedy(error))]
    except Exception as error:  # whatever an odd engine answers, doctor has to say so and go on
        detail = f"answers strangely: {type(error).__name__}: {error}"
        facts, findings = None, [Finding("engine", "fail", detail, "try another engine by DOCKER_HOST")]
    if facts is not None:
        findings += judge_engine(facts)
    return [*findings, guard(environ), free_space(store), writable(store)]


def _remedy(error: FumehoodError) -> str:
    return (error.remedy or "start Docker").removesuffix("; `fumehood doctor` says more")


def judge_engine(facts: EngineFacts) -> list[Finding]:
    """All findings that rest on what the engine says."""
    return [
        _version(facts), _cgroups(facts), *_limits(facts), _runtimes(facts), _storage(facts), *_security(facts),
        _age("runc", facts.runc, *SAFE_RUNC), _age("containerd", facts.containerd, *SAFE_CONTAINERD),
        _bases(facts), _containers(facts),
    ]  # fmt: skip


def _version(facts: EngineFacts) -> Finding:
    detail = f"{facts.version} on {facts.host_os or 'unknown'}, API {facts.api_version}"
    if version_tuple(facts.api_version) < OLDEST_API:
        return Finding("engine", "fail", detail, "upgrade to Docker Engine 20.10 or newer (API 1.41)")
    return Finding("engine", "ok", detail)


def _cgroups(facts: EngineFacts) -> Finding:
    detail = f"version {facts.cgroup_version or 'unknown'}, driver {facts.cgroup_driver or 'unknown'}"
    if is_rootless(facts) and facts.cgroup_version == "1":
        return Finding("cgroup", "fail", f"{detail}: rootless here enforces no limits at all", "boot with cgroup v2")
    return Finding("cgroup", "ok", detail)


def _limits(facts: EngineFacts) -> Iterator[Finding]:
    kept = {"memory": facts.memory_limit, "processes": facts.pids_limit, "cpu": facts.cpu_limit}
    missing = [name for name, held in kept.items() if not held]
    if missing:
        remedy = "enable these cgroup controllers (rootless: delegate them to the user)"
        yield Finding("limits", "fail", f"the engine cannot limit {', '.join(missing)}", remedy)
    elif not facts.swap_limit:
        yield Finding("limits", "warn", "memory is limited, swap is not", "boot with swapaccount=1, or switch swap off")
    else:
        yield Finding("limits", "ok", "memory, swap, processes and cpu can be limited")


def _runtimes(facts: EngineFacts) -> Finding:
    return Finding("runtimes", "ok", ", ".join(facts.runtimes) or "not told")


def _storage(facts: EngineFacts) -> Finding:
    on = f"{facts.storage_driver} on {facts.backing_filesystem or 'unknown'}"
    if facts.storage_driver in ("btrfs", "zfs") or (facts.storage_driver, facts.backing_filesystem) == (
        "overlay2",
        "xfs",
    ):
        return Finding("storage", "ok", f"{on}: disk quotas possible (xfs: if mounted with pquota), not needed")
    if facts.storage_driver == "vfs":
        return Finding("storage", "warn", f"{on}: copies whole images for each container", "use overlay2")
    return Finding("storage", "ok", f"{on}: no disk quota, so disk is capped by read-only root and sized tmpfs")


def _security(facts: EngineFacts) -> Iterator[Finding]:
    names = {option.partition("name=")[2].split(",")[0] for option in facts.security}
    unconfined = any("profile=unconfined" in option for option in facts.security)
    if "seccomp" not in names or unconfined:
        yield Finding("seccomp", "fail", "no default seccomp profile", "start the engine with its default profile")
    else:
        yield Finding("seccomp", "ok", "default profile")
    if names & {"apparmor", "selinux"}:
        yield Finding("mandatory access", "ok", ", ".join(sorted(names & {"apparmor", "selinux"})))
    else:
        yield Finding("mandatory access", "ok", "neither AppArmor nor SELinux; the other fences do not need them")
    if "rootless" in names:
        yield Finding("user namespaces", "ok", "rootless engine")
    elif "userns" in names:
        yield Finding("user namespaces", "ok", "user ids are remapped")
    else:
        yield Finding("user namespaces", "ok", "not remapped; agents run as a non-root user without capabilities")


def _age(name: str, version: str, safe: tuple[int, ...], hole: str) -> Finding:
    if not version:
        return Finding(name, "warn", "version not told", "")
    if version_tuple(version) >= safe:
        return Finding(name, "ok", version)
    wanted = ".".join(map(str, safe))
    remedy = f"upgrade to {wanted} or newer, unless your distribution has ported the fix back"
    return Finding(name, "warn", f"{version} is older than {wanted} ({hole})", remedy)


def _bases(facts: EngineFacts) -> Finding:
    from harness.app.images import stand_in_for

    have = [base for base in BASES if base in facts.image_tags]
    stand_ins = [stand_in_for(b) for b in BASES if b not in have and f"{stand_in_for(b)}:latest" in facts.image_tags]
    missing = [b for b in BASES if b not in have and stand_in_for(b) not in stand_ins]
    detail = "; ".join(
        f"{label} {', '.join(names)}"
        for label, names in (("present", have), ("stand-ins", stand_ins), ("not here yet", missing))
        if names
    )
    if missing:
        return Finding(
            "base images", "warn", detail, "they are pulled when needed; without a registry run script/setup"
        )
    return Finding("base images", "ok", detail)


def _containers(facts: EngineFacts) -> Finding:
    if not facts.our_containers:
        return Finding("containers", "ok", "none of ours left")
    shown = ", ".join(facts.our_containers[:5]) + (" ..." if len(facts.our_containers) > 5 else "")
    remedy = "if no run is going on: `fumehood gc` removes those without a living owner"
    return Finding("containers", "warn", f"{len(facts.our_containers)} of ours: {shown}", remedy)


def guard(environ: Mapping[str, str]) -> Finding:
    """Can the guard (PID 1 of each container) be had: given, or compiled here?"""
    if given := environ.get("FUMEHOOD_GUARD"):
        if Path(given).is_file():
            return Finding("guard", "ok", f"given by FUMEHOOD_GUARD: {given}")
        return Finding("guard", "fail", f"FUMEHOOD_GUARD names no file: {given}", "correct it, or unset it")
    for compiler in (environ.get("CC"), "cc", "gcc", "clang"):
        if compiler and shutil.which(compiler, path=environ.get("PATH")):
            return Finding("guard", "ok", f"compiled by {compiler} on first use")
    return Finding("guard", "fail", "no C compiler to make it", "install gcc and libc6-dev, or set FUMEHOOD_GUARD")


def free_space(store: Path) -> Finding:
    """Is there room for evidence?"""
    folder = next((p for p in (store.absolute(), *store.absolute().parents) if p.is_dir()), Path("/"))
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("disk", "fail", f"cannot look at {folder}: {error.strerror}", "check the path given by --store")
    detail = f"{free / 1024**3:.1f} GiB free at {folder}"
    return Finding("disk", "ok", detail) if free >= FREE_BYTES else Finding("disk", "warn", detail, "make room")


def writable(store: Path) -> Finding:
    """Can evidence be written? Tried in the nearest folder that exists, leaving nothing behind."""
    folder = next((p for p in (store.absolute(), *store.absolute().parents) if p.exists()), Path("/"))
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        remedy = "choose another folder with --store"
        return Finding("store", "fail", f"cannot write in {folder}: {error.strerror or error}", remedy)
    return Finding("store", "ok", f"{store.absolute()} can be written")


def is_rootless(facts: EngineFacts) -> bool:
    return any("name=rootless" in option for option in facts.security)


def version_tuple(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: `1.1.5+ds1` gives (1, 1, 5); nothing readable gives ()."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def current(store: Path) -> list[Finding]:
    """`examine` with this process's environment."""
    return examine(store, os.environ)

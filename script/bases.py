"""Base images for agents: pulled where a registry answers, else made from what this machine has.

Stand-ins are named fumehood-base/NAME; every Dockerfile here takes its base as `ARG BASE`, so both build.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from harness.engines import builder
from harness.engines.client import connect, mapped_errors
from harness.errors import FumehoodError, ImageMissing, UsageError

BASES = {
    "python": "python:3.12-slim",
    "node": "node:20-slim",
    "busybox": "busybox:1.36",
    "golang": "golang:1.22",
}
PROBES = {
    "python": [
        "sh",
        "-c",
        "python3 -c 'import json, ssl, ctypes, hashlib, asyncio, subprocess, venv' && pip --version",
    ],
    "node": ["sh", "-c", 'node -e \'JSON.parse("{}"); require("crypto")\' && node --version'],
    "busybox": ["sh", "-c", "echo ok | sed s/ok/fine/"],
    "golang": [
        "sh",
        "-c",
        "mkdir /tmp/x && cd /tmp/x && printf 'package main\\nfunc main() {}\\n' > m.go && go build m.go && ./m",
    ],
}
STAND_IN = "fumehood-base"
PATH = "PATH=/usr/local/go/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"


def say(text: str) -> None:
    sys.stderr.write(f"  {text}\n")
    sys.stderr.flush()


def run(*command: str, **extra: object) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, **extra)  # type: ignore[call-overload]
    if done.returncode:
        raise UsageError(
            f"`{' '.join(command[:6])}` failed ({done.returncode}): {(done.stdout + done.stderr)[-2000:].strip()}"
        )
    return str(done.stdout)


def need(program: str, package: str) -> str:
    """Where `program` is; installed from Debian's `package` where we may."""
    found = shutil.which(program)
    if not found:
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise UsageError(
                f"{program} is needed to make a stand-in base image",
                f"install {package}, or give the engine a registry",
            )
        say(f"installing {package}")
        run(
            "apt-get",
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
            package,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        found = shutil.which(program)
    if not found:
        raise UsageError(f"{package} is installed but has no {program} on PATH")
    return found


def skeleton(root: Path) -> None:
    """A merged-/usr tree with busybox, users, certificates and the usual folders."""
    for folder in (
        "usr/bin",
        "usr/sbin",
        "usr/lib64",
        f"usr/lib/{_triplet()}",
        "etc/ssl/certs",
        "usr/local/bin",
        "usr/local/lib",
        "root",
        "proc",
        "sys",
        "dev",
        "home",
        "var/log",
        "run",
    ):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("tmp", "var/tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder).chmod(0o1777)
    for link in ("bin", "sbin", "lib", "lib64"):
        (root / link).symlink_to(f"usr/{link}")
    busybox = need("busybox", "busybox-static")
    if "statically linked" not in run("sh", "-c", f"ldd {busybox} 2>&1; true") and "not a dynamic" not in run(
        "sh", "-c", f"ldd {busybox} 2>&1; true"
    ):
        add_libraries(root, [Path(busybox)])
    shutil.copy2(busybox, root / "usr/bin/busybox")
    for applet in run(busybox, "--list").split():
        target = root / "usr/bin" / applet
        if applet != "busybox" and not target.exists():
            target.symlink_to("busybox")
    (root / "etc/passwd").write_text(
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    )
    (root / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    (root / "etc/nsswitch.conf").write_text("hosts: files dns\n")
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    if bundle.exists():
        shutil.copy2(bundle, root / "etc/ssl/certs/ca-certificates.crt")
        (root / "etc/ssl/cert.pem").symlink_to("certs/ca-certificates.crt")
        # A file, not an environment variable: what stands in an image's environment would reach every agent.
        (root / "etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")


def _triplet() -> str:
    return sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu"


def add_libraries(root: Path, binaries: Iterable[Path]) -> None:
    """Copy what the dynamic loader needs for `binaries` to where a loader without a cache looks."""
    found: set[str] = set()
    listing = subprocess.run(["ldd", *map(str, binaries)], check=False, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        words = line.split()
        path = words[2] if "=>" in words and len(words) > 2 else (words[0] if words else "")
        if path.startswith("/") and not path.endswith(":"):
            found.add(path)
    # NSS modules are loaded by name, so that ldd does not show them.
    found |= {str(p) for p in Path(f"/lib/{_triplet()}").glob("libnss_[fd]*.so.2")}
    for path in found:
        home = "usr/lib64" if path.startswith(("/lib64/", "/usr/lib64/")) else f"usr/lib/{_triplet()}"
        shutil.copy2(path, root / home / Path(path).name)


def make_python(root: Path) -> None:
    """This machine's own CPython, moved to /usr/local, without its site-packages but pip."""
    if not Path(sysconfig.get_paths()["stdlib"]).is_relative_to(sys.base_prefix):
        raise UsageError("this Python is spread over the file system")
    skeleton(root)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = Path(sys.base_prefix) / "lib" / version
    if not (library / "site-packages/pip").is_dir():
        raise UsageError("this Python has no pip of its own")
    dropped = shutil.ignore_patterns(
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "__pycache__",
        "config-*",
        "idlelib",
        "tkinter",
        "turtledemo",
        "lib2to3",
        "EXTERNALLY-MANAGED",
    )
    shutil.copytree(library, root / "usr/local/lib" / version, ignore=dropped, symlinks=False)
    site = root / "usr/local/lib" / version / "site-packages"
    site.mkdir()
    for part in (
        *library.glob("site-packages/pip"),
        *library.glob("site-packages/pip-*.dist-info"),
        *library.glob("site-packages/setuptools"),
        *library.glob("site-packages/setuptools-*.dist-info"),
        *library.glob("site-packages/_distutils_hack"),
    ):
        shutil.copytree(part, site / part.name, ignore=shutil.ignore_patterns("__pycache__"))
    binary = Path(sys.base_prefix) / "bin" / version
    shutil.copy2(binary, root / "usr/local/bin" / version)
    for name in ("python", "python3"):
        (root / "usr/local/bin" / name).symlink_to(version)
    for name in ("pip", "pip3"):
        script = root / "usr/local/bin" / name
        script.write_text(
            "#!/usr/local/bin/python3\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n"
        )
        script.chmod(0o755)
    add_libraries(root, [binary, *(library / "lib-dynload").glob("*.so")])


def make_node(root: Path) -> None:
    """This machine's own node at /usr/local/bin."""
    node = need("node", "nodejs")
    skeleton(root)
    real = Path(run(node, "-p", "process.execPath").strip())
    shutil.copy2(real, root / "usr/local/bin/node")
    add_libraries(root, [real])


def make_busybox(root: Path) -> None:
    skeleton(root)


def make_golang(root: Path) -> None:
    """This machine's Go tree at /usr/local/go, links resolved; no C compiler, so cgo is off by itself."""
    go = need("go", "golang-go")
    skeleton(root)
    tree = Path(run(go, "env", "GOROOT").strip())
    shutil.copytree(
        tree,
        root / "usr/local/go",
        symlinks=False,
        ignore=shutil.ignore_patterns("testdata", "*_test.go", "*_race", "*_dynlink", "cgo.a.tmp"),
    )
    add_libraries(root, [p for p in (*tree.glob("bin/*"), *tree.glob("pkg/tool/*/*")) if p.is_file()])


def debian(root: Path, packages: str) -> None:
    """A minimal Debian with `packages`: slower, but needs nothing of this machine but mmdebstrap."""
    need("mmdebstrap", "mmdebstrap")
    codename = run("sh", "-c", ". /etc/os-release && echo ${VERSION_CODENAME:-bookworm}").strip()
    suite = (
        codename
        if Path("/etc/debian_version").exists() and "ubuntu" not in Path("/etc/os-release").read_text().lower()
        else "bookworm"
    )
    root.rmdir() if root.exists() and not any(root.iterdir()) else shutil.rmtree(root)
    run("mmdebstrap", "--variant=minbase", f"--include={packages}", "--format=dir", suite, str(root), timeout=600)
    for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        marker.unlink()
    if (root / "usr/bin/python3").exists():
        (root / "usr/bin/python").symlink_to("python3")
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    if bundle.exists() and (root / "etc/ssl/certs").is_dir():
        shutil.copy2(bundle, root / "etc/ssl/certs/ca-certificates.crt")
        (root / "etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")


MAKERS: dict[str, Callable[[Path], None]] = {
    "python": make_python, "node": make_node, "busybox": make_busybox, "golang": make_golang,
}  # fmt: skip
PACKAGES = {
    "python": "python3,python3-pip,python3-venv,ca-certificates",
    "node": "nodejs,ca-certificates",
    "golang": "golang-go,ca-certificates",
}


def import_tree(root: Path, ref: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tar = Path(folder) / "root.tar"
        run("tar", "--numeric-owner", "--owner=0", "--group=0", "-C", str(root), "-cf", str(tar), ".")
        client = connect(300)
        try:
            with mapped_errors(f"import {ref}"):
                client.import_image_from_file(
                    str(tar), repository=ref, tag="latest", changes=[f"ENV {PATH}", 'CMD ["sh"]']
                )
        finally:
            client.close()


def works(name: str, ref: str) -> bool:
    """Run the probe in a container without network: an image that cannot is of no use."""
    client, box = connect(120), ""
    try:
        with mapped_errors(f"try {ref}"):
            environment = {"HOME": "/root", "CGO_ENABLED": "0"}
            config = client.create_host_config(network_mode="none")
            box = client.create_container(ref, PROBES[name], environment=environment, host_config=config)["Id"]
            client.start(box)
            code, log = client.wait(box)["StatusCode"], client.logs(box)
    except FumehoodError as error:
        code, log = -1, str(error).encode()
    finally:
        if box:
            client.remove_container(box, force=True)
        client.close()
    if code:
        say(f"{ref} does not work ({code}): {log[-300:].decode(errors='replace')}")
    return bool(code == 0)


def stand_in(name: str) -> None:
    """Make fumehood-base/NAME: from this machine's own parts first, from Debian's packages where that fails."""
    ref = f"{STAND_IN}/{name}"
    ways: list[Callable[[Path], None]] = [MAKERS[name]]
    if name in PACKAGES:
        ways.append(lambda root: debian(root, PACKAGES[name]))
    for way in ways:
        with tempfile.TemporaryDirectory(prefix="fumehood-base-") as folder:
            root = Path(folder) / "root"
            root.mkdir()
            try:
                way(root)
                import_tree(root, ref)
            except (FumehoodError, OSError, shutil.Error, subprocess.TimeoutExpired) as error:
                say(f"{ref}: {error}")
                continue
        if works(name, ref):
            return
    raise ImageMissing(
        f"could not make {ref}", f"give the engine a registry that has {BASES[name]}, or make the image by hand"
    )


def main(names: list[str]) -> int:
    registry = not os.environ.get("FUMEHOOD_NO_PULL")
    for name in names or list(BASES):
        public, local, began = BASES[name], f"{STAND_IN}/{name}", time.monotonic()
        if builder.exists(public) or builder.exists(local):
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
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except FumehoodError as failure:
        sys.stderr.write(f"error: {failure}\n")
        sys.exit(failure.exit_code)

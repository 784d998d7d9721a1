"""Root file systems made from what this machine has: its own interpreters and their libraries, or Debian's packages."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from harness.errors import UsageError

CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
# Loaded by name (NSS), or wanted by binaries from pip and npm, some of them built against an older glibc: ldd on our
# own shows none of these.
WANTED_ANYWAY = (
    "libnss_[fd]*.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "libresolv.so.2", "libm.so.6",
    "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "libssl.so.3", "libcrypto.so.3",
)  # fmt: skip
NOT_IN_PYTHON = (
    "site-packages", "dist-packages", "test", "tests", "__pycache__", "config-*", "idlelib", "tkinter", "turtledemo",
    "lib2to3", "EXTERNALLY-MANAGED",
)  # fmt: skip


def say(text: str) -> None:
    sys.stderr.write(f"  {text}\n")
    sys.stderr.flush()


def run(*command: str) -> str:
    """Its stdout; UsageError with the end of its output where it fails or takes ten minutes."""
    shown = " ".join(command[:6])
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"`{shown}` took more than ten minutes") from error
    if done.returncode:
        raise UsageError(f"`{shown}` failed ({done.returncode}): {(done.stdout + done.stderr)[-2000:].strip()}")
    return done.stdout


def need(program: str, package: str) -> str:
    """Where `program` is; installed from Debian's `package` where we may."""
    found = shutil.which(program)
    if found:
        return found
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        remedy = f"install {package}, or give the engine a registry"
        raise UsageError(f"{program} is needed to make a stand-in base image", remedy)
    say(f"installing {package}")
    run("apt-get", "update", "-qq")
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", package)
    found = shutil.which(program)
    if not found:
        raise UsageError(f"{package} is installed but has no {program} on PATH")
    return found


def skeleton(root: Path) -> None:
    """A merged-/usr tree with busybox, users, certificates and the usual folders."""
    folders = "usr/bin usr/sbin usr/lib64 etc/ssl/certs usr/local/bin usr/local/lib root proc sys dev home var/log run"
    for folder in (*folders.split(), f"usr/lib/{_triplet()}"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("tmp", "var/tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder).chmod(0o1777)
    for link in ("bin", "sbin", "lib", "lib64"):
        (root / link).symlink_to(f"usr/{link}")
    _busybox(root)
    users = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
    (root / "etc/passwd").write_text(users)
    (root / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    (root / "etc/nsswitch.conf").write_text("hosts: files dns\n")
    _certificates(root)


def _busybox(root: Path) -> None:
    busybox = need("busybox", "busybox-static")
    listing = subprocess.run(["ldd", busybox], check=False, capture_output=True, text=True)
    if listing.returncode == 0 and "statically linked" not in listing.stdout:
        add_libraries(root, [Path(busybox)])
    shutil.copy2(busybox, root / "usr/bin/busybox")
    for applet in run(busybox, "--list").split():
        target = root / "usr/bin" / applet
        if applet != "busybox" and not target.exists():
            target.symlink_to("busybox")


def _certificates(root: Path) -> None:
    """This machine's certificates, so that pip in a build trusts what this machine trusts."""
    if not Path("/", CERTIFICATES).exists() or not (root / CERTIFICATES).parent.is_dir():
        return
    shutil.copy2(Path("/", CERTIFICATES), root / CERTIFICATES)
    # A file, not an environment variable: what stands in an image's environment would reach every agent.
    (root / "etc/pip.conf").write_text(f"[global]\ncert = /{CERTIFICATES}\n")
    if not os.path.lexists(root / "etc/ssl/cert.pem"):
        (root / "etc/ssl/cert.pem").symlink_to("certs/ca-certificates.crt")


def _triplet() -> str:
    return sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu"


def add_libraries(root: Path, binaries: Iterable[Path]) -> None:
    """Copy what the dynamic loader needs for `binaries` to where a loader without a cache looks."""
    listing = subprocess.run(["ldd", *map(str, binaries)], check=False, capture_output=True, text=True).stdout
    found: set[str] = set()
    for words in map(str.split, listing.splitlines()):
        path = words[2] if "=>" in words and len(words) > 2 else (words[0] if words else "")
        if path.startswith("/") and not path.endswith(":"):
            found.add(path)
    for pattern in WANTED_ANYWAY:
        found |= {str(path) for path in Path(f"/lib/{_triplet()}").glob(pattern)}
    for path in found:
        home = "usr/lib64" if path.startswith(("/lib64/", "/usr/lib64/")) else f"usr/lib/{_triplet()}"
        shutil.copy2(path, root / home / Path(path).name)


def python(root: Path) -> None:
    """This machine's own CPython, moved to /usr/local, without its site-packages but pip."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library, home = Path(sys.base_prefix) / "lib" / version, root / "usr/local/lib" / version
    if not (library / "site-packages/pip").is_dir():
        raise UsageError("this machine's Python has no pip of its own")
    skeleton(root)
    shutil.copytree(library, home, ignore=shutil.ignore_patterns(*NOT_IN_PYTHON))
    for pattern in ("pip", "pip-*.dist-info", "setuptools", "setuptools-*.dist-info", "_distutils_hack"):
        for part in (library / "site-packages").glob(pattern):
            target = home / "site-packages" / part.name
            shutil.copytree(part, target, ignore=shutil.ignore_patterns("__pycache__"))
    binary, programs = Path(sys.base_prefix) / "bin" / version, root / "usr/local/bin"
    shutil.copy2(binary, programs / version)
    for name in ("python", "python3"):
        (programs / name).symlink_to(version)
    for name in ("pip", "pip3"):
        (programs / name).write_text('#!/bin/sh\nexec /usr/local/bin/python3 -m pip "$@"\n')
        (programs / name).chmod(0o755)
    add_libraries(root, [binary, *(library / "lib-dynload").glob("*.so")])


def node(root: Path) -> None:
    """This machine's own node at /usr/local/bin, and its npm where that is one whole folder."""
    program = need("node", "nodejs")
    skeleton(root)
    real = Path(run(program, "-p", "process.execPath").strip())
    shutil.copy2(real, root / "usr/local/bin/node")
    add_libraries(root, [real])
    _npm(root)


def _npm(root: Path) -> None:
    """npm at /usr/local, trusting what this machine trusts by a file of its own, not by the environment."""
    cli = Path(os.path.realpath(shutil.which("npm") or "npm"))
    if not (cli.parents[1] / "node_modules").is_dir():
        return  # split up by a distribution, or not there
    shutil.copytree(
        cli.parents[1], root / "usr/local/lib/node_modules/npm", ignore=shutil.ignore_patterns("docs", "man")
    )
    for name in ("npm", "npx"):
        (root / "usr/local/bin" / name).symlink_to(f"../lib/node_modules/npm/bin/{name}-cli.js")
    (root / "usr/local/etc").mkdir(exist_ok=True)
    (root / "usr/local/etc/npmrc").write_text(f"cafile=/{CERTIFICATES}\n")


def golang(root: Path) -> None:
    """This machine's Go tree at /usr/local/go, links resolved; no C compiler, so cgo is off by itself."""
    program = need("go", "golang-go")
    skeleton(root)
    tree = Path(run(program, "env", "GOROOT").strip())
    dropped = shutil.ignore_patterns("testdata", "*_test.go", "*_race", "*_dynlink")
    shutil.copytree(tree, root / "usr/local/go", ignore=dropped)
    add_libraries(root, [p for p in (*tree.glob("bin/*"), *tree.glob("pkg/tool/*/*")) if p.is_file()])


def debian(root: Path, packages: str) -> None:
    """A minimal Debian 12 with `packages`: slower, but needs nothing of this machine but mmdebstrap."""
    need("mmdebstrap", "mmdebstrap")
    shutil.rmtree(root)
    run("mmdebstrap", "--variant=minbase", f"--include={packages}", "--format=dir", "bookworm", str(root))
    for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        marker.unlink()
    if (root / "usr/bin/python3").exists():
        (root / "usr/bin/python").symlink_to("python3")
    _certificates(root)

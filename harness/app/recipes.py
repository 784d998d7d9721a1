"""How an agent's folder becomes an image: its own Dockerfile, or one made from its manifest with what goes in."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import UNSET, Struct, to_builtins

from harness.app.data import data_dir
from harness.domain.manifest import ADAPTERS, CODE, MANIFEST, Adapter, Manifest
from harness.errors import UsageError
from harness.packs.manifest import command_of, load_manifest, place_of

SETTINGS = "fumehood_adapter.json"
SEEDS = "/app/writable"
"""What writable folders hold at first; each container gets its copy in scratch."""
LEFT_OUT = ("**/.git", "**/__pycache__", "**/*.pyc", "**/.venv", "**/venv", "**/node_modules", MANIFEST)
"""Of the agent's folder, beside what its .dockerignore says."""
PLACEHOLDER = "sk-placeholder"
_ENV_FILE = re.compile(r"\.env(\.(?!example$|sample$|template$|dist$).*)?\Z")
_ENV_LINE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=", re.MULTILINE)
_ADDRESS = re.compile(r"\w*(BASE_URL|API_BASE|ENDPOINT)\Z")
_MOVE = (
    'set -e; for p in "$@"; do mkdir -p "$p" "$(dirname "/app/writable$p")"; mv "$p" "/app/writable$p"; '
    'ln -s "/tmp/writable$p" "$p"; done; chmod -R a+rX /app/writable'
)
_APT = 'apt-get update && apt-get install -y --no-install-recommends "$@" && rm -rf /var/lib/apt/lists/*'
_PIP = ("python3", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--no-input")
_NPM = ("npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev")


class Recipe(Struct, frozen=True):
    """The Dockerfile, and the file to mend where it does not build.

    `files` (path in the build context -> content) is empty where the folder itself is the context; else the
    folder's files lie under `code/` there. `name` is the image's name where the manifest gives one.
    """

    folder: Path
    dockerfile: str
    file: Path
    files: Mapping[str, bytes] = {}
    name: str | None = None


def recipe_of(folder: Path) -> Recipe:
    """The recipe of a folder with a Dockerfile or an agent.yaml. UsageError where it has none, or both."""
    own, manifest = folder / "Dockerfile", folder / MANIFEST
    if own.is_file() and manifest.is_file():
        raise UsageError(f"{folder} has both a Dockerfile and an {MANIFEST}", "keep the one its image is to be made by")
    if own.is_file():
        return Recipe(folder, own.read_text(encoding="utf-8", errors="replace"), own)
    if not manifest.is_file():
        raise UsageError(
            f"neither a Dockerfile nor an {MANIFEST} in {folder}", "name an agent's folder; see docs/adapters.md"
        )
    return made(load_manifest(folder), folder)


def is_agent(folder: Path) -> bool:
    """Whether an image can be made of the folder."""
    return (folder / "Dockerfile").is_file() or (folder / MANIFEST).is_file()


def made(manifest: Manifest, folder: Path) -> Recipe:
    """The recipe of a manifest: the same manifest and folder give the same bytes."""
    adapter = ADAPTERS[manifest.adapter]
    text = dockerfile_of(manifest)
    shipped = data_dir() / "agent-images"
    files = {f"adapter/{Path(name).name}": (shipped / name).read_bytes() for name in adapter.files}
    files[f"adapter/{SETTINGS}"] = _settings(manifest, folder)
    files |= {f"code/{path}": _masked(folder / path, manifest) for path in _env_files(folder)}
    return Recipe(folder, text, folder / MANIFEST, {**files, "Dockerfile": text.encode()}, manifest.name)


def dockerfile_of(manifest: Manifest) -> str:
    """What changes seldom comes first, so that agents with the same packages share those layers."""
    adapter = ADAPTERS[manifest.adapter]
    lines = [
        f"# Made from {MANIFEST} by Fumehood.",
        f"ARG BASE={manifest.base or adapter.base}",
        "FROM ${BASE}",
        "USER 0:0",
        *_installs(manifest),
        *(["COPY --from=fumehood/gateway /bin/ /usr/local/bin/"] if adapter.runs_on == "binary" else []),
        *_start(manifest, adapter),
        "COPY adapter/ /app/",
        f"COPY code/ {CODE}/",
        *_late(manifest),
        "USER 65532:65532",
    ]
    return "\n".join(lines) + "\n"


def _installs(manifest: Manifest) -> Iterator[str]:
    install = manifest.install
    if install.apt:
        yield _run("sh", "-c", _APT, "apt", *install.apt)
    yield f"WORKDIR {CODE}"
    if install.requirements is not None:
        yield f"COPY {json.dumps([f'code/{install.requirements}', f'{CODE}/{install.requirements}'])}"
        yield _run(*_PIP, "-r", install.requirements)
    if words := [word for word in install.pip if not word.startswith(".")]:
        yield _run(*_PIP, *words)
    if install.package is not None:
        # The lock file beside it, where there is one, matches too.
        stem = install.package.removesuffix(".json")
        yield f"COPY {json.dumps([f'code/{stem}*.json', f'{CODE}/'])}"
        yield _run(*_NPM)
    if install.npm:
        yield _run(*_NPM, *install.npm)


def _start(manifest: Manifest, adapter: Adapter) -> Iterator[str]:
    if adapter.runs_on == "python":
        yield f"ENV PYTHONPATH={CODE}:/app PYTHONDONTWRITEBYTECODE=1"
    seeded = f"mkdir -p /tmp/writable && cp -R {SEEDS}/. /tmp/writable/ && cd {CODE} && " if manifest.writable else ""
    if adapter.runs_on == "node":
        # The shell moves the protocol to descriptors 3 and 4, so that what a child process prints ends on stderr.
        moved = f'{seeded}exec node /app/fumehood-agent.js --fds "$0" 3<&0 4>&1 </dev/null 1>&2'
        yield f"ENTRYPOINT {json.dumps(['/bin/sh', '-c', moved])}"
        yield 'CMD ["/app/fumehood-adapter.js"]'
        return
    if adapter.runs_on == "binary":
        how = () if manifest.cli is UNSET else ("--task", manifest.cli.task, "--answer", manifest.cli.answer)
        words = ["/usr/local/bin/fumehood-gateway", *how, "--", *command_of(manifest)]
    else:
        words = ["python3", "-u", "-m", "fumehood_agent", "fumehood_adapter:agent"]
    shell = ["/bin/sh", "-c", f'{seeded}exec "$0" "$@"'] if seeded else []
    yield f"ENTRYPOINT {json.dumps([*shell, *words])}"
    yield "CMD []"


def _late(manifest: Manifest) -> Iterator[str]:
    """What needs the agent's own folder: it as a package, and the folders in it that are to be writable."""
    if words := [word for word in manifest.install.pip if word.startswith(".")]:
        yield _run(*_PIP, *words)
    for name, value in sorted(manifest.env.items()):
        escaped = re.sub(r'([\\"$])', r"\\\1", value)
        yield f'ENV {name}="{escaped}"'
    if manifest.writable:
        yield _run("sh", "-c", _MOVE, "writable", *sorted(place_of(path) for path in manifest.writable))
        yield "WORKDIR /app"  # the folder itself may be a link into what is only there once it runs


def _run(*words: str) -> str:
    """In exec form: no shell reads what a manifest says."""
    return f"RUN {json.dumps(words)}"


def _settings(manifest: Manifest, folder: Path) -> bytes:
    command = ADAPTERS[manifest.adapter].entry == "command"
    settings = {
        "name": manifest.name or folder.resolve().name,
        "entry": command_of(manifest) if command else manifest.entry,
        "models": manifest.models,
        "state": to_builtins(manifest.state),
        "http": None if manifest.http is UNSET else to_builtins(manifest.http),
    }
    return (json.dumps(settings, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _env_files(folder: Path) -> Iterable[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (".git", ".venv", "venv", "node_modules"))
        yield from (str((Path(here) / name).relative_to(folder)) for name in sorted(names) if _ENV_FILE.match(name))


def _masked(path: Path, manifest: Manifest) -> bytes:
    """A file of secrets without them: its names, with the manifest's values or a placeholder."""
    text = path.read_text(encoding="utf-8", errors="replace")
    names = [name for name in dict.fromkeys(_ENV_LINE.findall(text)) if not _ADDRESS.match(name)]
    lines = [f"{name}={json.dumps(manifest.env.get(name, PLACEHOLDER), ensure_ascii=False)}\n" for name in names]
    return "".join(lines).encode()

"""A first pack, agent and CI workflow, written from the templates beside this file; nothing is overwritten."""

from __future__ import annotations

import os
from pathlib import Path

from harness.app.data import data_dir
from harness.errors import UsageError

TEMPLATES = Path(__file__).parent / "templates"
LANGUAGES = ("python", "node", "shell", "go")
_COMMON = {
    "pack.yaml": "pack.yaml",
    "FUMEHOOD.md": "FUMEHOOD.md",
    ".github/workflows/fumehood.yml": "workflow.yml",
    ".gitlab-ci.yml": "gitlab-ci.yml",
}
_AGENT = {
    "python": ("Dockerfile", "agent.py"),
    "node": ("Dockerfile", "agent.js"),
    "shell": ("Dockerfile", "agent.sh"),
    "go": ("Dockerfile", "main.go"),
}
_ADAPTER = {
    "python": ("fumehood_agent.py", "fumehood_gateway.py"),
    "node": ("fumehood-agent.js", "fumehood-gateway.js"),
    "shell": ("fumehood-agent.sh",),
    "go": ("fumehood.go", "go.mod"),
}


def write(target: Path, language: str) -> list[Path]:
    """Write everything under `target` (made if need be); the files written, in order.

    Raises UsageError, having written nothing, where any of them is there already.
    """
    contents = _contents(language)
    taken = [name for name in contents if os.path.lexists(target / name)]
    if taken:
        raise UsageError(f"already there in {target}: {', '.join(taken)}", "nothing was written; choose another folder")
    written = []
    try:
        for name, data in contents.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(data)
            written.append(path)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}", "choose another folder") from error
    return written


def _contents(language: str) -> dict[str, bytes]:
    """Relative path to content; the adapter's library is copied from the agent images that ship with Fumehood."""
    adapter = data_dir() / "agent-images" / language
    files = {name: _template(source) for name, source in _COMMON.items()}
    files |= {f"agent/{name}": _template(f"{language}/{name}") for name in _AGENT[language]}
    return files | {f"agent/{name}": (adapter / name).read_bytes() for name in _ADAPTER[language]}


def _template(name: str) -> bytes:
    return (TEMPLATES / f"{name}.tmpl").read_bytes()

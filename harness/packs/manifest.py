"""The strict loader of an agent's manifest: a folder to a Manifest, or to every mistake in it at once."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from harness.domain.manifest import ADAPTERS, CODE, MANIFEST, Adapter, Manifest
from harness.domain.pack import Problem
from harness.errors import PackError
from harness.packs.nodes import Node
from harness.packs.shape import read_struct
from harness.packs.source import read_tree
from harness.packs.words import did_you_mean, show

_OBJECT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")
_FILE = re.compile(r"[\w@][\w@./-]*\.(js|cjs|mjs)(:[A-Za-z_$][\w$]*)?\Z")
_SECTIONS = ("state", "http", "cli")
_SET_ANYWAY = re.compile(
    r"(HOME|TMPDIR|XDG_\w+|PYTHONPATH|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|FUMEHOOD_\w+|OPENAI_(BASE_URL|API_BASE)"
    r"|ANTHROPIC_(BASE_URL|API_BASE)|AZURE_OPENAI_ENDPOINT|LITELLM_PROXY_API_BASE)\Z"
)
_KEPT = ("/", "/app", "/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/sbin", "/sys", "/tmp", "/usr")  # noqa: S108


def load_manifest(folder: Path) -> Manifest:
    """The agent.yaml of a folder. Raises PackError, whose `problems` are all there are, each with its place."""
    path = folder / MANIFEST
    root, problems = read_tree(path)
    manifest = None
    if root is not None:
        manifest, misshapen = read_struct(root, Manifest, "the manifest")
        problems = [*problems, *misshapen, *_problems(root, folder)]
    if problems or manifest is None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise PackError(f"{path} has {count}", tuple(sorted(set(problems))), "mend them; see docs/adapters.md")
    return manifest


def command_of(manifest: Manifest) -> list[str]:
    """The words of an entry that is a command."""
    return shlex.split(manifest.entry) if isinstance(manifest.entry, str) else list(manifest.entry)


def place_of(path: str) -> str:
    """A folder of the image, absolute; what is relative lies in the agent's folder."""
    return posixpath.normpath(posixpath.join(CODE, path))


def _problems(root: Node, folder: Path) -> Iterator[Problem]:
    """What must hold beyond the form; whatever is misshapen has been said already."""
    yield from _files(root.get("install"), folder)
    yield from _env(root.get("env"))
    yield from _writable(root.get("writable"))
    for name in ("input", "output"):
        yield from _path(root.get("state").get(name), name)
    adapter = ADAPTERS.get(root.get("adapter").text or "")
    if adapter is not None:
        yield from _sections(root, adapter)
        yield from _entry(root.get("entry"), adapter)


def _sections(root: Node, adapter: Adapter) -> Iterator[Problem]:
    name = root.get("adapter").text
    for section in _SECTIONS:
        if section in root.fields and section not in adapter.sections:
            yield root.key(section).problem(f"{section!r} is not for the adapter {name}")
    if "http" in adapter.sections and "http" not in root.fields:
        yield root.get("adapter").mark.problem(f"the adapter {name} needs a section 'http' with the server's port")


def _entry(node: Node, adapter: Adapter) -> Iterator[Problem]:
    if adapter.entry == "command":
        words = node.data if isinstance(node.data, list) else _words(node.text)
        if node.exists and not words:
            yield node.mark.problem("entry must be a command, as text or as a list of words")
    elif isinstance(node.data, list):
        yield node.mark.problem("entry must be text: only the adapters acp, cli and http start a command")
    elif adapter.entry == "object" and node.text is not None and not _OBJECT.match(node.text):
        yield node.mark.problem(f"entry must be module:name, such as agent:graph, not {show(node.text)}")
    elif adapter.entry == "file" and node.text is not None and not _FILE.match(node.text):
        yield node.mark.problem(f"entry must be a .js, .cjs or .mjs file, or file:export, not {show(node.text)}")


def _words(text: str | None) -> list[str]:
    try:
        return shlex.split(text or "")
    except ValueError:  # a quotation that does not end
        return []


def _files(install: Node, folder: Path) -> Iterator[Problem]:
    """Files that are named must be there, in the folder: nothing else reaches the build."""
    for name in ("requirements", "package"):
        node = install.get(name)
        if node.text is None:
            continue
        found = (folder / node.text).resolve()
        if not found.is_file() or not found.is_relative_to(folder.resolve()):
            there = [p.name for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []
            yield node.mark.problem(f"{name}: no file {show(node.text)} in the folder" + did_you_mean(node.text, there))


def _env(env: Node) -> Iterator[Problem]:
    for name, (mark, _) in env.fields.items():
        if _SET_ANYWAY.match(name):
            yield mark.problem(f"env: {name} is set for every agent; what is written here would not be heeded")


def _writable(paths: Node) -> Iterator[Problem]:
    places: dict[str, str] = {}
    for node in paths.items:
        if node.text is None:
            continue
        place = place_of(node.text)
        if not node.text.startswith("/") and place != CODE and not place.startswith(CODE + "/"):
            yield node.mark.problem(f"writable: {show(node.text)} leaves the agent's folder")
        elif place in _KEPT or place.startswith(("/proc/", "/sys/", "/dev/", "/tmp/")):  # noqa: S108
            why = "is writable anyway" if place.startswith("/tmp") else "cannot be writable"  # noqa: S108
            yield node.mark.problem(f"writable: {show(node.text)} {why}")
        near = [other for other in places if f"{other}/".startswith(f"{place}/") or f"{place}/".startswith(f"{other}/")]
        if near:
            yield node.mark.problem(f"writable: {show(node.text)} and {show(places[near[0]])} are one in the other")
        places[place] = node.text


def _path(node: Node, name: str) -> Iterator[Problem]:
    if node.text is not None and not all(node.text.split(".")):
        yield node.mark.problem(f"{name} must be names joined by single dots, not {show(node.text)}")

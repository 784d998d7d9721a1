"""Agent images by folder or name: which base they take, what must be built before them, and their default tags."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from harness.app.data import data_dir, or_shipped
from harness.app.recipes import LEFT_OUT, Recipe, is_agent, recipe_of
from harness.domain.ids import is_safe_id, safe_id
from harness.domain.manifest import MANIFEST
from harness.errors import ImageInvalid, ImageMissing, UsageError

OURS = "fumehood/"
STAND_IN = "fumehood-base/"
_BASE = re.compile(r"^\s*ARG\s+BASE=[\"']?([^\s\"']+)", re.MULTILINE)
_PARTS = re.compile(rf"^\s*COPY\s+--from=({OURS}[\w.-]+)", re.MULTILINE)
_REFERENCE = re.compile(
    r"(?:(?:localhost|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:))(?::\d+)?/)?[a-z0-9._/-]+(?::[\w.-]+)?(?:@?sha256:[0-9a-f]+)?",
    re.ASCII,
)
"""[registry/]path[:tag][@digest], or an id. What comes before the first slash is a registry only with a dot or port."""
_MAX_CHAIN = 5


def build(folder: Path, tag: str | None = None, build_args: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Build an agent's folder, and first the images of ours it stands on; (reference, image id).

    The tag defaults to `fumehood/<the name in its manifest, or the folder's>`. Raises UsageError (PackError for a
    manifest), ImageInvalid, ImageMissing, EngineError.
    """
    recipe = recipe_of(folder)
    ref = tag or default_tag(folder, recipe.name)
    return ref, _build(recipe, ref, build_args or {}, 0)


def default_tag(folder: Path, name: str | None = None) -> str:
    """`fumehood/<name, or the folder's>`, in the letters an image name may have."""
    name = re.sub(r"[^a-z0-9]+", "-", safe_id(name or folder.resolve().name, "agent").lower()).strip("-")
    return f"{OURS}{name or 'agent'}"


def resolve_agent(text: str) -> str:
    """The image reference of an agent given as a folder (built now) or as an image name (taken as it is)."""
    return locate_agent(text)[0]


def locate_agent(text: str) -> tuple[str, str]:
    """Like `resolve_agent`, and what the engine should be asked for.

    For a folder that is the id of what was built: another process may have moved the tag since.
    """
    folder = or_shipped(Path(text))
    if folder.is_dir():
        return build(folder)
    if text.startswith((".", "/", "~")):
        raise UsageError(f"no such folder: {text}", "name an agent's folder, or an image")
    if not _REFERENCE.fullmatch(text):
        raise UsageError(f"neither a folder nor an image name: {text}", "name an agent's folder, or an image")
    return text, text


def is_reference(text: str) -> bool:
    """True where `text` can be the name of an image."""
    return _REFERENCE.fullmatch(text) is not None


def folder_problem(folder: Path) -> str | None:
    """Why a folder cannot be built as an agent, as far as a look at it tells; None where it can."""
    if not folder.is_dir():
        return f"no such folder: {folder}"
    return None if is_agent(folder) else f"neither a Dockerfile nor an {MANIFEST} in {folder}"


def locate_image(ref: str) -> str:
    """What the engine should be asked for by a public image's name: it, its local stand-in, or it once pulled.

    One of ours is built. Raises UsageError, ImageMissing, EngineError.
    """
    from harness.engines import builder

    if not _REFERENCE.fullmatch(ref):
        raise UsageError(f"not an image name: {ref}", "name an image, such as python:3.12-slim")
    if (shipped := _shipped(ref)) is not None:
        return build(shipped, ref)[1]
    if builder.exists(ref):
        return ref
    if builder.exists(stand_in_for(ref)):
        _say_once(f"image {ref} is not here: using the local stand-in {stand_in_for(ref)}\n")
        return stand_in_for(ref)
    builder.pull(ref)
    return ref


def build_probe(name: str) -> str:
    """Build the misbehaving agent `name` from the probes that ship with Fumehood; its reference."""
    ref = f"{OURS}probe-{name.replace('_', '-')}"
    return build(data_dir() / "agent-images" / "probes", ref, {"PROBE": name.replace("-", "_")})[0]


def base_of(dockerfile: str) -> str | None:
    """The default of `ARG BASE=...`; None where there is none."""
    found = _BASE.search(dockerfile)
    return found[1] if found else None


def parts_of(dockerfile: str) -> list[str]:
    """The images of ours that files are copied from: `COPY --from=fumehood/gateway ...`."""
    return _PARTS.findall(dockerfile)


def stand_in_for(base: str) -> str:
    """The name of the local stand-in of a public image: `python:3.12-slim` gives `fumehood-base/python`."""
    repository = base.split("@", 1)[0].rsplit("/", 1)[-1].split(":", 1)[0]
    return STAND_IN + repository


def _build(recipe: Recipe, ref: str, build_args: Mapping[str, str], depth: int) -> str:
    """Build as `ref`, and first what it stands on or copies from; the image id."""
    from harness.engines import builder

    args = {**_base_args(recipe, build_args, depth), **build_args}
    context = builder.Context(recipe.files, "code", LEFT_OUT, recipe.file) if recipe.files else None
    return builder.build_image(recipe.folder, ref, args, context)


def _base_args(recipe: Recipe, given: Mapping[str, str], depth: int) -> dict[str, str]:
    """What to pass as BASE so that the build finds it; empty where the Dockerfile's own default will do.

    Images of ours that it stands on or copies from are built first.
    """
    from harness.engines import builder

    for part in parts_of(recipe.dockerfile):
        _build_shipped(part, depth)
    base = None if "BASE" in given else base_of(recipe.dockerfile)
    if base is None or _build_shipped(base, depth) or builder.exists(base):
        return {}
    stand_in = stand_in_for(base)
    if builder.exists(stand_in):
        _say_once(f"base {base} is not here: using the local stand-in {stand_in}\n")
        return {"BASE": stand_in}
    try:
        builder.pull(base)
    except ImageMissing as error:
        remedy = f"connect the engine to a registry, or make {stand_in} with script/setup"
        raise ImageMissing(f"{recipe.folder} is built on {base}, which is not here: {error.message}", remedy) from error
    return {}


def _build_shipped(name: str, depth: int) -> bool:
    """Build the agent image that ships with Fumehood under `name`; False where none does."""
    shipped = _shipped(name)
    if shipped is None:
        return False
    # Built even where it is present: the cache makes that quick, and an old one would be used unseen.
    if depth >= _MAX_CHAIN:
        raise ImageInvalid(f"images stand on each other more than {_MAX_CHAIN} deep at {name}", "look for a circle")
    _build(recipe_of(shipped), name, {}, depth + 1)
    return True


def _shipped(base: str) -> Path | None:
    """The folder of an agent image that ships with Fumehood, where `base` names one."""
    name = base.removeprefix(OURS).removesuffix(":latest")
    if not base.startswith(OURS) or not is_safe_id(name):
        return None
    folder = data_dir() / "agent-images" / name
    return folder if (folder / "Dockerfile").is_file() else None


@cache
def _say_once(text: str) -> None:
    sys.stderr.write(text)

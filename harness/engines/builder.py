"""Building images through the Engine API, and asking which are there."""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from harness.engines.client import connect, mapped_errors
from harness.errors import EngineTimeout, ImageInvalid, ImageMissing, UsageError

BUILD_SILENCE_S = 600
PULL_SILENCE_S = 30
_KEPT_LINES = 20
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Context(Struct, frozen=True):
    """A build context that is made: `files` (path -> content), a Dockerfile among them, and the folder's below `under`.

    `left_out`: patterns as in a .dockerignore, beside the folder's own. `source`: the file to mend if it fails.
    """

    files: Mapping[str, bytes]
    under: str
    left_out: Sequence[str]
    source: Path


def build_image(folder: Path, tag: str, build_args: Mapping[str, str], context: Context | None = None) -> str:
    """Build `folder` (its .dockerignore respected) as `tag`; the image id (sha256:...). `context`: made, instead of it.

    Raises EngineUnreachable, UsageError without a Dockerfile and ImageInvalid with the last lines of the log, or where
    there was none for ten minutes: a step that hangs is the Dockerfile's, and costs no other agent anything.
    """
    source = folder / "Dockerfile" if context is None else context.source
    if context is None and not source.is_file():
        raise UsageError(f"no Dockerfile in {folder}", "name a folder that holds an agent's Dockerfile")
    client = connect(BUILD_SILENCE_S)
    try:
        try:
            with mapped_errors(f"build {folder}"):
                log, error = _run_build(client, folder, tag, build_args, context)
        except EngineTimeout as hung:
            why = f"building {folder} failed: nothing was heard of it for {BUILD_SILENCE_S} s"
            raise ImageInvalid(why, f"look for a step in {source} that waits") from hung
        if error:
            raise ImageInvalid(f"building {folder} failed: {error}\n{log}".rstrip(), f"repair {source}")
        with mapped_errors(f"inspect {tag}"):
            return str(client.inspect_image(tag)["Id"])
    finally:
        client.close()


def _run_build(
    client: Any, folder: Path, tag: str, build_args: Mapping[str, str], context: Context | None
) -> tuple[str, str]:
    """(last lines, error text); a Dockerfile the engine cannot parse is refused before there is any log."""
    import docker.errors

    try:
        with nullcontext() if context is None else _packed(folder, context) as packed:
            where = {"path": str(folder)} if packed is None else {"fileobj": packed, "custom_context": True}
            return _read_log(
                client.build(**where, tag=tag, buildargs=dict(build_args), rm=True, forcerm=True, decode=True)
            )
    except docker.errors.APIError as error:
        if not error.is_client_error():
            raise
        return "", _tidy(str(error.explanation or error))


@contextmanager
def _packed(folder: Path, context: Context) -> Iterator[IO[bytes]]:
    """The context as a tar: the same files give the same bytes, whoever owns them and whenever they were written.

    Everyone may read what is in it, as the agent's user is not the one who built it. Only files, folders and links.
    """
    with tempfile.SpooledTemporaryFile(max_size=1 << 24) as spooled:
        with tarfile.open(fileobj=spooled, mode="w") as tar:
            tar.addfile(_shared(_folder(context.under)))
            for name, data in sorted(context.files.items()):
                entry = _shared(tarfile.TarInfo(name))
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            for path in _kept(folder, context.left_out):
                if f"{context.under}/{path}" not in context.files:
                    _add(tar, folder / path, f"{context.under}/{path}")
        spooled.seek(0)
        yield spooled


def _kept(folder: Path, left_out: Sequence[str]) -> list[str]:
    """Paths in the folder, parents first, without what its .dockerignore or `left_out` names."""
    from docker.utils.build import exclude_paths

    ignore = folder / ".dockerignore"
    own = ignore.read_text(encoding="utf-8", errors="replace").splitlines() if ignore.is_file() else []
    patterns = [line.strip() for line in own if line.strip() and not line.startswith("#")]
    # The library always keeps the .dockerignore itself, which is for builders alone.
    return sorted(exclude_paths(str(folder), [*patterns, *left_out]) - {ignore.name})


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    if not (path.is_symlink() or path.is_file() or path.is_dir()):
        return
    entry = _shared(tar.gettarinfo(str(path), arcname=name))
    if not entry.isreg():
        tar.addfile(entry)
        return
    with path.open("rb") as content:
        tar.addfile(entry, content)


def _folder(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.DIRTYPE
    return entry


def _shared(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def exists(ref: str) -> bool:
    """True where the engine holds an image of that name."""
    client = connect()
    try:
        with mapped_errors(f"inspect {ref}"):
            return _present(client, ref)
    finally:
        client.close()


def pull(ref: str) -> None:
    """Pull `ref` (tag: latest if none); ImageMissing where no registry gives it within 30 silent seconds."""
    import docker.errors
    import requests.exceptions

    name, _, tag = ref.rpartition(":") if ":" in ref.rsplit("/", 1)[-1] else (ref, "", "latest")
    client = connect(PULL_SILENCE_S)
    error = ""
    try:
        with mapped_errors(f"pull {ref}"):
            try:
                _, error = _read_log(client.pull(name, tag=tag, stream=True, decode=True))
            except (docker.errors.APIError, requests.exceptions.RequestException) as failure:
                error = _tidy(str(getattr(failure, "explanation", None) or failure))
    finally:
        client.close()
    if error:
        raise ImageMissing(f"cannot pull {ref}: {error}", "check the network, or make stand-ins with script/bases")


def _present(client: Any, ref: str) -> bool:
    import docker.errors

    try:
        client.inspect_image(ref)
    except docker.errors.NotFound:
        return False
    return True


def _read_log(stream: Iterable[dict[str, Any]]) -> tuple[str, str]:
    """(last lines, error text) of a build or pull; the error is empty where it went well."""
    lines: list[str] = []
    for part in stream:
        if "error" in part:
            return "\n".join(lines), _tidy(str(part["error"])) or "unknown error"
        lines += [line for line in _tidy(str(part.get("stream", ""))).splitlines() if line.strip()]
        del lines[:-_KEPT_LINES]
    return "\n".join(lines), ""


def _tidy(text: str) -> str:
    """Log text with escape sequences and control bytes removed, lines cut at 300 characters."""
    return "\n".join(line[:300].rstrip() for line in _ESCAPES.sub("", text).splitlines())

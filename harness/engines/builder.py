"""Building images through the Engine API, and asking which are there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.engines.client import connect, mapped_errors
from harness.errors import ImageInvalid, ImageMissing, UsageError

BUILD_SILENCE_S = 600
PULL_SILENCE_S = 30
_KEPT_LINES = 20
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def build_image(folder: Path, tag: str, build_args: Mapping[str, str]) -> str:
    """Build `folder` (its .dockerignore respected) as `tag`; the image id (sha256:...).

    Raises EngineUnreachable, EngineTimeout (ten minutes without a line), UsageError without a Dockerfile and
    ImageInvalid with the last lines of the log.
    """
    if not (folder / "Dockerfile").is_file():
        raise UsageError(f"no Dockerfile in {folder}", "name a folder that holds an agent's Dockerfile")
    client = connect(BUILD_SILENCE_S)
    try:
        with mapped_errors(f"build {folder}"):
            log, error = _run_build(client, folder, tag, build_args)
        if error:
            raise ImageInvalid(f"building {folder} failed: {error}\n{log}".rstrip(), f"repair {folder / 'Dockerfile'}")
        with mapped_errors(f"inspect {tag}"):
            return str(client.inspect_image(tag)["Id"])
    finally:
        client.close()


def _run_build(client: Any, folder: Path, tag: str, build_args: Mapping[str, str]) -> tuple[str, str]:
    """(last lines, error text); a Dockerfile the engine cannot parse is refused before there is any log."""
    import docker.errors

    try:
        return _read_log(
            client.build(path=str(folder), tag=tag, buildargs=dict(build_args), rm=True, forcerm=True, decode=True)
        )
    except docker.errors.APIError as error:
        if not error.is_client_error():
            raise
        return "", _tidy(str(error.explanation or error))


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

"""Containers on a Docker-compatible engine: the only place that starts, watches and removes them."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import anyio
import anyio.to_thread
from docker import APIClient
from docker import errors as docker_errors

from harness.domain.ids import OWNER_LABEL
from harness.domain.workspace import WorkArea
from harness.engines.client import mapped_errors
from harness.engines.frames import FrameReader
from harness.engines.guard import ReportFinder, exit_info
from harness.engines.hardening import container_body
from harness.engines.prepared import NAME_PREFIX, Prepared, describe, fresh_name, prepare, prune_prepared
from harness.engines.workspace import MAX_ARCHIVE, pack_files
from harness.errors import ContainerLost, EngineError, EngineTimeout, ImageInvalid
from harness.ports import Chunk, ContainerSpec, ExitInfo, ImageInfo

T = TypeVar("T")
READ_SIZE = 256 * 1024


async def _bounded(name: str, limit_ms: int, call: Callable[[], T]) -> T:
    """Run a blocking engine call in a thread under its own deadline; foreign errors mapped here."""

    def guarded() -> T:
        with mapped_errors(name):
            return call()

    try:
        with anyio.fail_after(limit_ms / 1000):
            return await anyio.to_thread.run_sync(guarded, abandon_on_cancel=True)
    except TimeoutError as error:
        raise EngineTimeout(f"the engine did not answer {name} within {limit_ms} ms") from error


class DockerEngine:
    """`ports.Engine` over the Engine API. One client, used from worker threads."""

    def __init__(self, api: APIClient, call_ms: int = 60_000) -> None:
        self._api = api
        self._call_ms = call_ms
        self._prepared: dict[str, Prepared] = {}
        self._preparing = anyio.Lock()

    async def inspect(self, ref: str) -> ImageInfo:
        return await _bounded("image inspect", self._call_ms, lambda: describe(self._api, ref))

    async def _prepare(self, image: ImageInfo, labels: Mapping[str, str]) -> Prepared:
        async with self._preparing:
            if image.digest not in self._prepared:
                self._prepared[image.digest] = await _bounded(
                    "image commit", self._call_ms, lambda: prepare(self._api, image, labels)
                )
        return self._prepared[image.digest]

    async def start(self, spec: ContainerSpec) -> DockerContainer:
        if not (*spec.image.entrypoint, *spec.image.command):
            raise ImageInvalid(f"image {spec.image.ref} has neither ENTRYPOINT nor CMD", "name one in its Dockerfile")
        prepared = await self._prepare(spec.image, spec.labels)
        nonce = secrets.token_hex(16)
        body = container_body(spec, prepared, nonce)
        call = partial(_bounded, limit_ms=spec.limits.engine_call_ms)
        started = False
        ident = ""
        try:
            ident = (await call("create", call=lambda: self._api.create_container_from_config(body, fresh_name())))[
                "Id"
            ]
            stream = await call("attach", call=lambda: _attach(self._api, ident))
            await call("start", call=lambda: self._api.start(ident))
            container = DockerContainer(self._api, ident, stream, nonce.encode(), spec)
            if spec.workspace:
                await _put_in(container, spec.workspace, spec.limits.engine_call_ms)
            started = True
        except ContainerLost:
            self._prepared.pop(spec.image.digest, None)  # its copy may have been deleted: the next try makes it again
            raise
        finally:
            if not started:
                with anyio.CancelScope(shield=True):
                    await self._discard(ident, spec)
        return container

    async def _discard(self, ident: str, spec: ContainerSpec) -> None:
        """Remove what a failed or cancelled start left; when cancelled inside create, its id is not known yet."""
        try:
            left = [ident] if ident else await _bounded("list", 10_000, lambda: _find(self._api, spec.labels))
            for one in left:
                await _bounded("remove", 10_000, partial(_remove, self._api, one))
        except EngineError:
            return  # the reaper finds it by its labels at the next start

    async def reap(self, is_living: Callable[[str], bool], dry_run: bool = False) -> Sequence[str]:
        # By name too: a container of somebody else may inherit our labels from its image.
        ours = {"label": OWNER_LABEL, "name": f"^/{NAME_PREFIX}"}
        found = await _bounded("list", self._call_ms, lambda: self._api.containers(all=True, filters=ours))
        dead = [c["Id"] for c in found if not is_living(c["Labels"].get(OWNER_LABEL, ""))]
        for ident in [] if dry_run else dead:
            await _bounded("remove", self._call_ms, partial(_remove, self._api, ident))
        return dead

    async def prune(self, dry_run: bool = False) -> Sequence[str]:
        """Remove the guarded copies of images that are no longer there; their tags."""
        return await _bounded("image prune", self._call_ms, lambda: prune_prepared(self._api, dry_run))


async def _put_in(container: DockerContainer, area: WorkArea, limit_ms: int) -> None:
    """Hand the guard its files. One that is gone already says why when its exit is read."""
    try:
        with contextlib.suppress(BrokenPipeError), anyio.fail_after(limit_ms / 1000):
            await container.send(pack_files(area.files))
    except TimeoutError as error:
        raise EngineTimeout(f"the workspace was not taken in within {limit_ms} ms") from error


def _find(api: APIClient, labels: Any) -> list[str]:
    wanted = [f"{k}={v}" for k, v in labels.items()]
    return [c["Id"] for c in api.containers(all=True, filters={"label": wanted})]


def _attach(api: APIClient, ident: str) -> socket.socket:
    """The hijacked connection as a plain non-blocking socket of our own."""
    attached = api.attach_socket(ident, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    stream = socket.socket(fileno=os.dup(attached.fileno()))
    attached.close()
    stream.setblocking(False)
    return stream


def _remove(api: APIClient, ident: str) -> None:
    """Remove by force and prove it: gone means the engine no longer knows the id."""
    for _ in range(50):
        try:
            api.remove_container(ident, force=True, v=True)
            api.inspect_container(ident)
        except docker_errors.NotFound:
            return
        except docker_errors.APIError as error:
            if error.status_code != 409:  # 409: a removal is already under way
                raise
        time.sleep(0.1)
    raise EngineError(f"container {ident[:12]} could not be removed", "look at it with docker inspect")


class DockerContainer:
    """`ports.Container`: one started container and its attach stream."""

    def __init__(self, api: APIClient, ident: str, stream: socket.socket, nonce: bytes, spec: ContainerSpec) -> None:
        self.id = ident
        self._api = api
        self._stream = stream
        self._call_ms = spec.limits.engine_call_ms
        self._frames = FrameReader()
        self._finder = ReportFinder(nonce, MAX_ARCHIVE if spec.workspace and spec.workspace.take_out else 0)
        self._ready: deque[Chunk] = deque()
        self._ended = False

    @property
    def ended(self) -> bool:
        return self._ended or self._finder.report is not None

    async def receive(self) -> Chunk | None:
        while not self._ready:
            if self._ended:
                return None
            data = await self._read()
            if data:
                for chunk in self._frames.feed(data):
                    self._take(chunk)
            else:
                self._ended = True
                self._frames.close()
                if rest := self._finder.close():
                    self._ready.append(Chunk("stderr", rest))
        return self._ready.popleft()

    def _take(self, chunk: Chunk) -> None:
        if chunk.stream == "stderr":
            chunk = Chunk("stderr", self._finder.feed(chunk.data))
        if chunk.data:
            self._ready.append(chunk)

    async def _read(self) -> bytes:
        while True:
            try:
                return self._stream.recv(READ_SIZE)
            except BlockingIOError:
                await anyio.wait_readable(self._stream)
            except OSError as error:
                raise ContainerLost(f"the engine dropped the attach stream: {error}") from error

    async def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._stream.send(view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._stream)
            except OSError as error:
                raise BrokenPipeError("the agent's stdin is closed") from error

    async def close_stdin(self) -> None:
        try:
            self._stream.shutdown(socket.SHUT_WR)
        except OSError:
            return  # closed already, by the agent or by us

    async def signal(self, name: Literal["TERM", "KILL"]) -> None:
        def kill() -> None:
            try:
                self._api.kill(self.id, signal=name)
            except docker_errors.APIError as error:
                if error.status_code not in (404, 409):  # gone, or not running any more
                    raise

        await _bounded(f"kill {name}", self._call_ms, kill)

    async def wait(self) -> ExitInfo:
        def ended() -> dict[str, Any]:
            self._api.wait(self.id, timeout=self._call_ms // 1000 or 1)
            return dict(self._api.inspect_container(self.id)["State"])

        state = await _bounded("wait", self._call_ms, ended)
        if state.get("Status") not in ("exited", "dead"):
            raise ContainerLost(f"container {self.id[:12]} is {state.get('Status')} after its exit")
        return exit_info(int(state["ExitCode"]), bool(state["OOMKilled"]), bytes(self._finder.report or b""))

    async def remove(self) -> None:
        # The engine removes nothing while output waits to be read here, and the copy of this socket inside the
        # `docker` package may outlive ours: closing alone does not tell the engine that nobody reads any more.
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()
        await _bounded("remove", self._call_ms, lambda: _remove(self._api, self.id))

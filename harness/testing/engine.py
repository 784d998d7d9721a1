"""An engine in memory: agents are coroutines, so that sessions and runs can be tried without containers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Literal

import anyio
import msgspec
from anyio.abc import TaskGroup

from harness.domain.ids import OWNER_LABEL
from harness.domain.workspace import MAX_OUT_BYTES, MAX_OUT_ENTRIES, LeftOut, Taken, WorkFile, path_problem
from harness.errors import ContainerLost, ImageMissing
from harness.ports import Chunk, ContainerSpec, ExitInfo, ImageInfo

_KILLED = 137


class Inside:
    """What a scripted agent sees of its container."""

    def __init__(self, container: MemoryContainer) -> None:
        self._container = container
        self._read = b""
        self.term = anyio.Event()
        self.env = container.spec.env
        self.command = (*container.spec.image.entrypoint, *container.spec.image.command)
        area = container.spec.workspace
        self.workspace = {file.path: file for file in area.files} if area else {}
        """The files of its workspace by path: what is here at its end is taken out."""

    async def read_line(self) -> bytes | None:
        """The next line of stdin without its LF; None at its end."""
        while b"\n" not in self._read:
            try:
                self._read += await self._container.stdin_reader.receive()
            except anyio.EndOfStream:
                return None
        line, self._read = self._read.split(b"\n", 1)
        return line

    async def write(self, data: bytes, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Bytes on stdout or stderr; waits while nobody reads."""
        await self._container.output_writer.send(Chunk(stream, data))

    def lose_stream(self) -> None:
        """Break the attach stream, as an engine under load does."""
        self._container.lost = True


Script = Callable[[Inside], Awaitable[int | ExitInfo]]
"""A scripted agent: its return value is the exit code, or the whole exit."""


class MemoryEngine:
    """`ports.Engine` without containers. `scripts` maps image references to agents."""

    def __init__(self, tasks: TaskGroup, scripts: Mapping[str, Script]) -> None:
        self._tasks = tasks
        self._scripts = scripts
        self._digests = {f"sha256:{hashlib.sha256(ref.encode()).hexdigest()}": ref for ref in scripts}
        self.containers: dict[str, MemoryContainer] = {}
        self.started = 0

    async def inspect(self, ref: str) -> ImageInfo:
        ref = self._digests.get(ref, ref)
        if ref not in self._scripts:
            raise ImageMissing(f"no image {ref}", "build it (fumehood image build DIR) or pull it first")
        digest = f"sha256:{hashlib.sha256(ref.encode()).hexdigest()}"
        return ImageInfo(ref, digest, (), ("agent",), "", (), (), "/", {})

    async def start(self, spec: ContainerSpec) -> MemoryContainer:
        await self.inspect(spec.image.digest)
        self.started += 1
        container = MemoryContainer(f"memory-{self.started}", spec, self)
        self.containers[container.id] = container
        self._tasks.start_soon(container.live, self._scripts[self._digests[spec.image.digest]])
        return container

    async def reap(self, is_living: Callable[[str], bool], dry_run: bool = False) -> Sequence[str]:
        dead = [i for i, c in self.containers.items() if not is_living(c.spec.labels.get(OWNER_LABEL, ""))]
        for ident in [] if dry_run else dead:
            await self.containers[ident].remove()
        return dead

    async def prune(self, dry_run: bool = False) -> Sequence[str]:
        return []


class MemoryContainer:
    """`ports.Container` around one scripted agent."""

    def __init__(self, ident: str, spec: ContainerSpec, engine: MemoryEngine) -> None:
        self.id = ident
        self.spec = spec
        self.lost = False
        self._engine = engine
        self.stdin_writer, self.stdin_reader = anyio.create_memory_object_stream[bytes](math.inf)
        self.output_writer, self._output = anyio.create_memory_object_stream[Chunk](16)
        self._inside = Inside(self)
        self._scope = anyio.CancelScope()
        self._exit: ExitInfo | None = None
        self._over = anyio.Event()

    @property
    def ended(self) -> bool:
        return self._over.is_set()

    async def live(self, script: Script) -> None:
        """Run the agent to its end or to KILL."""
        try:
            with self._scope:
                result = await script(self._inside)
                self._exit = result if isinstance(result, ExitInfo) else exited(result)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._exit = exited(1)
        finally:
            self._exit = self._exit or exited(_KILLED)
            if self.spec.workspace and self.spec.workspace.take_out:
                taken = taken_out(self._inside.workspace.values())
                self._exit = msgspec.structs.replace(self._exit, workspace=taken)
            self._over.set()
            self.output_writer.close()
            self.stdin_reader.close()

    async def receive(self) -> Chunk | None:
        try:
            chunk = await self._output.receive()
        except anyio.EndOfStream:
            if self.lost:
                raise ContainerLost("the engine dropped the attach stream") from None
            return None
        return chunk

    async def send(self, data: bytes) -> None:
        try:
            await self.stdin_writer.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise BrokenPipeError("the agent's stdin is closed") from None

    async def close_stdin(self) -> None:
        self.stdin_writer.close()

    async def signal(self, name: Literal["TERM", "KILL"]) -> None:
        self._inside.term.set()
        if name == "KILL":
            self._scope.cancel()

    async def wait(self) -> ExitInfo:
        await self._over.wait()
        assert self._exit is not None
        return self._exit

    async def remove(self) -> None:
        self._scope.cancel()
        self._engine.containers.pop(self.id, None)
        self._output.close()
        self.stdin_writer.close()


def taken_out(files: Iterable[WorkFile]) -> Taken:
    """What an engine takes of these files, by the same caps."""
    kept: list[WorkFile] = []
    left: list[LeftOut] = []
    room = MAX_OUT_BYTES
    listed = list(files)
    for file in listed[:MAX_OUT_ENTRIES]:
        why = "name" if path_problem(file.path) else "large" if len(file.content) > room else ""
        if why:
            left.append(LeftOut(file.path.encode("unicode_escape").decode(), why, len(file.content)))
        else:
            kept.append(file)
            room -= len(file.content)
    return Taken(tuple(kept), tuple(left), len(left), whole=len(listed) <= MAX_OUT_ENTRIES)


def exited(code: int) -> ExitInfo:
    """An exit that nothing special is known of."""
    number = code - 128 if code > 128 else None
    return ExitInfo(code, number, False, False, False, -1, reported=True, observed=True)

"""An MCP server as the harness calls it: JSON-RPC lines over a container's streams, every byte of them hostile.

By hand for the three requests it takes: the `mcp` package reads lines of any length, and brings a web server along.
Source: https://modelcontextprotocol.io/specification/2025-06-18 (lifecycle, tools, transports: stdio).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from msgspec import UNSET

from harness.errors import ContainerLost, FumehoodError, PackFault
from harness.ports import Chunk, Container, ToolAnswer
from harness.tools.mcp_messages import VERSION, Incoming, answer_of, names_of, read_line, version_of

MAX_MESSAGES = 10_000
"""Lines of one server in one trial, whatever they say."""
MAX_PAGES = 20
_KEPT_STDERR = 4096
_BIG_LINE = 16 * 1024
"""A longer line is read in a thread: its time is that of other trials too."""


class Caps(msgspec.Struct, frozen=True):
    """Bytes of one line, of stdout and of stderr; ms until it is ready, and of one answer."""

    line: int
    stdout: int
    stderr: int
    start_ms: int
    answer_ms: int


class _Wait:
    def __init__(self) -> None:
        self.over = anyio.Event()
        self.message: Incoming | None = None


class McpServer:
    """One server of one trial (a `harness.ports.ToolServer`). `tools`: those the pack says it has."""

    def __init__(self, name: str, tools: frozenset[str], caps: Caps) -> None:
        self._name = name
        self._tools = tools
        self._caps = caps
        self._container: Container | None = None
        self._begun = anyio.Event()
        self._waits: dict[int, _Wait] = {}
        self._last_id = self._stdout = self._stderr = self._messages = 0
        self._rest, self._tail = bytearray(), b""
        self._gone: FumehoodError | None = None
        self._turn = anyio.Lock()

    async def attend(self, container: Container) -> None:
        """Read what it says until its end. Never raises: calls tell what became of it."""
        self._container = container
        self._begun.set()
        try:
            while (chunk := await container.receive()) is not None:
                await self._take(chunk)
            raise await self._end(container)
        except FumehoodError as error:
            self._fail(error)

    async def greet(self) -> None:
        """Shake hands, and see that it has the pack's tools. Raises PackFault, EngineError."""
        with anyio.move_on_after(self._caps.start_ms / 1000):
            await self._begun.wait()
            client = {"name": "client", "version": "1"}
            asked = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
            try:
                version_of(await self._ask("initialize", asked))
                await self._send({"method": "notifications/initialized"})
                offered = await self._offered()
            except ValueError as error:
                raise self._fault(f"said {error}") from error
            if missing := sorted(self._tools - offered):
                raise self._fault(f"offers no tool {', '.join(missing)}: it has {', '.join(sorted(offered))[:300]}")
            return
        raise self._fault(f"was not ready within {self._caps.start_ms} ms")

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Its answer, which may be an error of the tool's own. Raises PackFault, EngineError."""
        with anyio.move_on_after(self._caps.answer_ms / 1000):
            try:
                return answer_of(await self._ask("tools/call", {"name": tool, "arguments": dict(arguments)}))
            except ValueError as error:
                raise self._fault(f"gave {tool} {error}") from error
        raise self._fault(f"gave no answer to {tool} within {self._caps.answer_ms} ms")

    # ---- asking ----

    async def _offered(self) -> set[str]:
        names: set[str] = set()
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            found, cursor = names_of(await self._ask("tools/list", {"cursor": cursor} if cursor else {}))
            names.update(found)
            if cursor is None:
                return names
        raise ValueError(f"more than {MAX_PAGES} pages of tools")

    async def _ask(self, method: str, params: dict[str, Any]) -> Incoming:
        if self._gone is not None:
            raise self._gone
        self._last_id += 1
        ident, wait = self._last_id, _Wait()
        self._waits[ident] = wait
        await self._send({"id": ident, "method": method, "params": params})
        await wait.over.wait()
        if wait.message is None:
            raise self._gone or self._fault("ended")
        return wait.message

    async def _send(self, message: dict[str, Any]) -> None:
        """A server that does not read is found by the deadline of whoever waits."""
        if self._container is None:
            raise self._fault("has not begun")
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        async with self._turn:
            try:
                await self._container.send(line)
            except BrokenPipeError:
                return  # why it is gone shows at the end of its stream

    # ---- listening ----

    async def _take(self, chunk: Chunk) -> None:
        """Raises PackFault for what it may not say."""
        if chunk.stream == "stderr":
            self._stderr += len(chunk.data)
            self._tail = (self._tail + chunk.data[-_KEPT_STDERR:])[-_KEPT_STDERR:]
            if self._stderr > self._caps.stderr:
                raise self._fault(f"wrote more than {self._caps.stderr} bytes to stderr")
            return
        self._stdout += len(chunk.data)
        if self._stdout > self._caps.stdout:
            raise self._fault(f"wrote more than {self._caps.stdout} bytes to stdout")
        head, *more = chunk.data.split(b"\n")
        self._rest += head
        for part in more:
            line, self._rest = bytes(self._rest), bytearray(part)
            await self._heard(line)
        if len(self._rest) > self._caps.line:
            raise self._fault(f"said a line of more than {self._caps.line} bytes")

    async def _heard(self, line: bytes) -> None:
        self._messages += 1
        if len(line) > self._caps.line:
            raise self._fault(f"said a line of more than {self._caps.line} bytes")
        if self._messages > MAX_MESSAGES:
            raise self._fault(f"said more than {MAX_MESSAGES} lines")
        try:
            said = read_line(line) if len(line) < _BIG_LINE else await anyio.to_thread.run_sync(read_line, line)
        except ValueError as error:
            raise self._fault(f"said {error}") from error
        if said.method is not UNSET:
            await self._asked(said)
            return
        wait = self._waits.pop(said.id, None) if isinstance(said.id, int) else None
        if wait is None:
            raise self._fault("answered what was not asked")
        wait.message = said
        wait.over.set()

    async def _asked(self, said: Incoming) -> None:
        """It may ask for a sign of life; roots, sampling and elicitation were not offered. Notifications are let be."""
        if said.id is UNSET or said.id is None:
            return
        if said.method == "ping":
            await self._send({"id": said.id, "result": {}})
        else:
            await self._send({"id": said.id, "error": {"code": -32601, "message": "not offered"}})

    # ---- its end ----

    def _fault(self, what: str) -> PackFault:
        last = self._tail.decode("utf-8", "replace").strip().splitlines()[-1:]
        words = f"; last words: {last[0][:200]}" if last else ""
        return PackFault(f"tool server {self._name} {what}{words}", "correct it, or what the pack says of it")

    async def _end(self, container: Container) -> FumehoodError:
        info = await container.wait()
        if info.not_started:
            return self._fault(f"could not be started: {info.not_started}")
        if info.oom_killed:
            return self._fault("went over its memory limit")
        if info.stopped or not info.reported:
            return ContainerLost(f"the container of tool server {self._name} was ended from outside")
        how = f"was killed by signal {info.signal}" if info.signal else f"ended with exit code {info.code}"
        return self._fault(how)

    def _fail(self, error: FumehoodError) -> None:
        """Nothing more is asked of it; all who wait are told why."""
        self._gone = error
        for wait in self._waits.values():
            wait.over.set()
        self._waits.clear()

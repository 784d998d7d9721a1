"""Plays one golden dialogue with one started container and says what does not conform."""

from __future__ import annotations

from collections import deque

import anyio

from harness.domain.limits import Limits
from harness.ports import Container
from protocol.codec import LineError, LineSplitter, decode_agent
from protocol.codec import encode as encoded
from protocol.dialogue import Dialogue, check_transcript, opening, replies_to

MAX_LINES = 1000
"""Lines of one dialogue that are looked at; a conforming agent needs a few dozen."""
MAX_PROBLEMS = 10


class Player:
    """One dialogue over one container. Use once."""

    def __init__(self, container: Container, dialogue: Dialogue, limits: Limits) -> None:
        self._container = container
        self._dialogue = dialogue
        self._limits = limits
        self._splitter = LineSplitter(limits.max_line_bytes)
        self._lines: list[bytes | LineError] = []
        self._last_words: deque[bytes] = deque(maxlen=4)
        self._opened = False
        self._eof = anyio.Event()

    async def play(self) -> list[str]:
        """What does not conform; empty: it conforms. Raises EngineError where the engine failed."""
        limits = self._limits
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._talk)
            with anyio.move_on_after((limits.startup_ms + limits.wall_ms) / 1000):
                await self._eof.wait()
            ended = self._eof.is_set()
            if not ended:
                await self._container.signal("KILL")
                with anyio.move_on_after(limits.engine_call_ms / 1000):
                    await self._eof.wait()
            tasks.cancel_scope.cancel()
        info = await self._container.wait()
        problems = check_transcript(self._dialogue, self._lines, ended, info.code if ended else None)
        if len(problems) > MAX_PROBLEMS:
            problems = [*problems[:MAX_PROBLEMS], f"and {len(problems) - MAX_PROBLEMS} more"]
        words = b"".join(self._last_words).decode("utf-8", "replace").strip().splitlines()
        return [*problems, f"its last words: {words[-1][:200]}"] if problems and words else problems

    async def _talk(self) -> None:
        while (chunk := await self._container.receive()) is not None:
            if chunk.stream == "stderr":
                self._last_words.append(chunk.data[-2000:])
                continue
            for line in self._splitter.feed(chunk.data):
                await self._take(line)
        if rest := self._splitter.close():
            self._lines.append(rest)
        self._eof.set()

    async def _take(self, line: bytes | LineError) -> None:
        if len(self._lines) > MAX_LINES:
            return
        self._lines.append(line)
        if isinstance(line, LineError):
            return
        try:
            message = decode_agent(line)
        except LineError:
            return
        if not self._opened:
            self._opened = True
            await self._send(opening(self._dialogue))
            if self._dialogue.on_start == "close_stdin":
                await self._container.close_stdin()
        else:
            for reply in replies_to(self._dialogue, message):
                await self._send(encoded(reply))

    async def _send(self, data: bytes) -> None:
        try:
            with anyio.move_on_after(self._limits.write_ms / 1000):
                await self._container.send(data)
        except BrokenPipeError:
            return  # that it stopped reading shows in how it ended

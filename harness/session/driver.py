"""Feeds a machine from a container: one reader that always drains, one writer, one watch on time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from msgspec import Struct

from harness.domain.outcome import Breach, End
from harness.errors import sole
from harness.ports import Clock, Container, ExitInfo
from harness.session.ending import FAULTS, fault, timer
from harness.session.machine import Machine
from harness.session.rules import Action, CallModel, CallTool, Finish, ReplyLater, Rules, Send
from harness.session.stop import stop
from harness.session.tail import Tail
from protocol.codec import LineError, LineSplitter, decode_agent, encode
from protocol.messages import AgentMessage, Cancel, HarnessMessage

MAX_UNREAD = 4096
"""Replies that may wait to be written; an agent that calls and never reads is stopped there."""
BIG_LINE = 16 * 1024
"""A longer line is looked at in a thread: a hostile one of 4 MiB takes ten seconds to scrub, which are others' time."""
TICK_MS = 200
LAG_MS = 50
"""A wait of at most TICK_MS that ends later than this was held up by the harness: that time is not the agent's."""


class Ended(Struct, frozen=True):
    """What a driver saw at the end; `killed`: the container had to be signalled."""

    exit: ExitInfo
    killed: bool
    partial_line: LineError | None
    ended_ms: int


class Driver:
    """Runs one session over one started container. Use once."""

    def __init__(self, container: Container, machine: Machine, rules: Rules, clock: Clock, stderr: Tail) -> None:
        self._container = container
        self._machine = machine
        self._timers = machine.timers
        self._rules = rules
        self._clock = clock
        self._stderr = stderr
        self._began = clock.now_ms()
        self._splitter = LineSplitter(rules.limits.max_line_bytes)
        self._eof = anyio.Event()
        self._finish: Finish | None = None
        self._nudge = anyio.Event()
        self._armed = 0
        self._held = 0
        self._writing = False
        self._partial: LineError | None = None
        self._turn = anyio.Lock(fast_acquire=True)
        self._tasks: TaskGroup
        self._outbox: MemoryObjectSendStream[HarnessMessage]

    def now(self) -> int:
        """ms since the session began."""
        return self._clock.now_ms() - self._began

    async def run(self) -> Ended:
        """Until the container is gone. Raises EngineError where the engine failed us, whatever the agent did."""
        outbox, letters = anyio.create_memory_object_stream[HarnessMessage](math.inf)
        self._outbox = outbox
        try:
            async with anyio.create_task_group() as self._tasks, outbox, letters:
                self._tasks.start_soon(self._read)
                self._tasks.start_soon(self._write, letters)
                await self._watch()
                killed, info = await stop(self._container, self._eof, self._finish, self._rules.limits, self._say)
                ended = self.now()
                self._tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise sole(group) from None
        return Ended(info, killed, self._partial, ended)

    def _say(self, reason: str) -> None:
        self._outbox.send_nowait(Cancel(reason))

    async def _watch(self) -> None:
        """Until the session is over or the stream is at its end; looks at the timers meanwhile."""
        while self._finish is None and not self._eof.is_set():
            async with self._turn:
                self._armed = self._timers.due(self.now())
            self._nudge = anyio.Event()
            wake = min(self._armed, self.now() + TICK_MS)
            with anyio.move_on_after(max(0, wake - self.now()) / 1000):
                await self._nudge.wait()
            if (late := self.now() - wake) > LAG_MS:
                self._timers.forgive(late)
            self._forgive_upstream()
            if self._finish is None and not self._eof.is_set():
                await self._judge(lambda: self._machine.on_time(self.now(), self._writing))

    def _forgive_upstream(self) -> None:
        held = self._rules.model.held_ms()
        if held > self._held:
            self._timers.forgive(held - self._held)
            self._held = held

    # ---- reading ----

    async def _read(self) -> None:
        """Drains both streams to their end, also long after the session is decided."""
        while (chunk := await self._container.receive()) is not None:
            self._timers.heard(self.now())
            if chunk.stream == "stderr":
                await self._take_stderr(chunk.data)
            else:
                await self._take_stdout(chunk.data)
        self._partial = self._splitter.close()
        self._eof.set()
        self._nudge.set()

    async def _take_stdout(self, data: bytes) -> None:
        machine = self._machine
        for line in self._splitter.feed(data) if machine.listening else []:
            await self._judge(partial(self._look_at, line), isinstance(line, bytes) and len(line) > BIG_LINE)
        await self._judge(partial(machine.on_bytes, len(data)))

    def _look_at(self, line: bytes | LineError) -> list[Action]:
        return self._machine.on_line(_decoded(line), self.now())

    async def _take_stderr(self, data: bytes) -> None:
        self._stderr.feed(data)
        limit = self._rules.limits.max_stderr_bytes
        if self._stderr.total > limit:
            detail = {"limit": "max_stderr_bytes", "limit_bytes": limit}
            breach = Breach(End.OUTPUT_LIMIT, f"stderr went over its {limit} bytes", detail)
            await self._judge(partial(self._machine.fail, breach))

    # ---- acting ----

    async def _judge(self, ask: Callable[[], list[Action]], in_thread: bool = False) -> None:
        """Ask the machine, and do what it says; one at a time, as it may be at work in a thread."""
        async with self._turn:
            try:
                actions = await anyio.to_thread.run_sync(ask) if in_thread else ask()
            except FAULTS as error:
                actions = self._machine.fail(fault(error))
            self._perform(actions)

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Send(message):
                    self._post(message)
                case ReplyLater(ident, after_ms):
                    self._tasks.start_soon(self._reply_later, ident, after_ms)
                case CallTool():
                    self._tasks.start_soon(self._call_tool, action)
                case CallModel():
                    self._tasks.start_soon(self._call_model, action)
                case Finish():
                    # A second one tells of a breach after the trajectory: nothing new to do.
                    self._finish = self._finish or action
                    self._nudge.set()
        if self._timers.first().at < self._armed:
            self._nudge.set()

    def _post(self, message: HarnessMessage) -> None:
        if self._outbox.statistics().current_buffer_used >= MAX_UNREAD:
            detail = {"kind": "storm", "limit": MAX_UNREAD}
            self._perform(self._machine.fail(Breach(End.RETRY_LIMIT, "the agent calls and never reads", detail)))
        else:
            self._outbox.send_nowait(message)

    async def _reply_later(self, ident: str, after_ms: int) -> None:
        await anyio.sleep(after_ms / 1000)
        await self._judge(lambda: self._machine.on_due(ident, self.now()))

    async def _call_tool(self, action: CallTool) -> None:
        try:
            answer = await action.answer()
        except FAULTS as error:
            await self._judge(partial(self._machine.on_tool_fault, action.id, fault(error)))
        else:  # in a thread, as what a server says may be as long as a line
            await self._judge(lambda: self._machine.on_tool(action.id, answer, self.now()), in_thread=True)

    async def _call_model(self, action: CallModel) -> None:
        try:
            answer = await self._rules.model.complete(action.request, action.stream, action.most)
        except FAULTS as error:
            await self._judge(partial(self._machine.fail, fault(error)))
        else:
            big = len(msgspec.json.encode(answer.response)) > BIG_LINE
            await self._judge(lambda: self._machine.on_model(action.id, answer, self.now()), big)

    async def _write(self, letters: MemoryObjectReceiveStream[HarnessMessage]) -> None:
        limit = self._rules.limits.write_ms
        async for message in letters:
            self._writing = True
            try:
                with anyio.fail_after(limit / 1000):
                    await self._container.send(encode(message))
            except TimeoutError:
                await self._judge(partial(self._machine.fail, timer(End.TIMEOUT, "write_ms", limit)))
                return
            except BrokenPipeError:
                await self._judge(self._machine.input_closed)
                return
            finally:
                self._writing = False


def _decoded(line: bytes | LineError) -> AgentMessage | LineError:
    try:
        return line if isinstance(line, LineError) else decode_agent(line)
    except LineError as error:
        return error

"""Answers of models and tool servers on file: JSON lines, recorded in trials, found by the digest of a request."""

from __future__ import annotations

import fcntl
import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread
import msgspec
from msgspec import Struct

from harness.domain.canonical import canonical
from harness.errors import CassetteMiss, UsageError
from harness.models.outgoing import NEUTRAL
from harness.ports import ModelAnswer, ToolAnswer

Clean = Callable[[Any], Any]
"""Takes secrets, and what is different in every run, out of a JSON value."""


class Head(Struct, frozen=True, tag="cassette"):
    version: int = 1


class Take(Struct, frozen=True, tag="take"):
    """A trial begins to record; whatever was recorded of it before does not count any more."""

    trial: str


class Answer(Struct, frozen=True, tag="answer", omit_defaults=True):
    """One answer. `digest`: of the request, as `digest` makes it; `used`: the model that answered."""

    trial: str
    digest: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None
    response: Any = None
    error: str | None = None
    status: int | None = None
    chunks: list[Any] = []
    used: str | None = None
    estimated: bool = False


class Told(Struct, frozen=True, tag="tool", omit_defaults=True):
    """What a server answered to one call of a tool. `digest`: as `tool_digest` makes it.

    `call`: its number in the trial, as answers to calls side by side come in any order. How long it took is left out:
    no two runs would be the same.
    """

    trial: str
    tool: str
    digest: str
    call: int
    status: Literal["ok", "error"]
    content: Any = None
    reason: str | None = None


Line = Head | Take | Answer | Told


def digest(request: Any) -> str:
    """Sha256 of a request's canonical JSON without the fields that say nothing of what is asked (`NEUTRAL`)."""
    asked = {name: value for name, value in request.items() if name not in NEUTRAL and value is not None}
    return hashlib.sha256(canonical(asked).encode("utf-8", "surrogatepass")).hexdigest()


def tool_digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """Sha256 of a call's canonical JSON."""
    return hashlib.sha256(canonical([tool, arguments]).encode("utf-8", "surrogatepass")).hexdigest()


class Recorder:
    """The file of one run, opened for more; each line is written at once, so that trials may write side by side."""

    def __init__(self, path: Path) -> None:
        """UsageError where there is a file already that is no cassette, or none can be made."""
        self._path = path
        try:
            with path.open("a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                data = file.read()
                if not data:
                    file.write(msgspec.json.encode(Head()) + b"\n")
                else:
                    _lines(data, path)
                    whole = data.rfind(b"\n") + 1
                    file.truncate(whole)  # what a killed run left of its last line
        except OSError as error:
            raise UsageError(
                f"--record cannot write {path}: {error}", "give a file in a folder that is there"
            ) from error

    def write(self, line: Line) -> None:
        data = msgspec.json.encode(line) + b"\n"
        with self._path.open("ab", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(data)


class TrialRecorder:
    """Puts the answers of one trial into the file."""

    def __init__(self, recorder: Recorder, trial: str, clean: Clean) -> None:
        self._recorder = recorder
        self._trial = trial
        self._clean = clean
        recorder.write(Take(trial))

    async def put(self, request: Mapping[str, Any], answer: ModelAnswer) -> None:
        """Beside the session, as a large request takes long to clean."""
        await anyio.to_thread.run_sync(self._put, request, answer)

    def _put(self, request: Mapping[str, Any], answer: ModelAnswer) -> None:
        line = Answer(
            trial=self._trial,
            digest=digest(self._clean(request)),
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cost_usd=answer.cost_usd,
            response=self._clean(answer.response),
            error=None if answer.error is None else self._clean(answer.error),
            status=answer.status,
            chunks=self._clean(list(answer.chunks)),
            used=answer.used,
            estimated=answer.estimated,
        )
        self._recorder.write(line)

    async def put_tool(self, call: int, tool: str, arguments: Mapping[str, Any], answer: ToolAnswer) -> None:
        """The answer of a tool's server to the trial's call of this number."""
        await anyio.to_thread.run_sync(self._put_tool, call, tool, arguments, answer)

    def _put_tool(self, call: int, tool: str, arguments: Mapping[str, Any], answer: ToolAnswer) -> None:
        line = Told(
            trial=self._trial,
            tool=tool,
            digest=tool_digest(tool, self._clean(dict(arguments))),
            call=call,
            status=answer.status,
            content=self._clean(answer.content),
            reason=None if answer.reason is None else self._clean(answer.reason),
        )
        self._recorder.write(line)


class Cassette:
    """All answers of a file: by trial, and in the order of the file for trials that it does not know."""

    def __init__(self, path: Path) -> None:
        """UsageError where it is no cassette."""
        self.path = path
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"the cassette cannot be read: {error}", "record one with --record FILE") from error
        self.digest = hashlib.sha256(data).hexdigest()
        takes: dict[str, list[Answer | Told]] = {}
        for line in _lines(data, path):
            if isinstance(line, Take):
                takes[line.trial] = []
            elif isinstance(line, Answer | Told):
                takes.setdefault(line.trial, []).append(line)
        self._takes = takes

    def answers(self, trial: str) -> list[Answer]:
        """Those of models recorded for this trial; those of all trials where there is no such trial."""
        return [line for take in self._of(trial) for line in take if isinstance(line, Answer)]

    def told(self, trial: str) -> list[Told]:
        """Like `answers`, of tool servers, those of each trial in the order of its calls."""
        calls = [[line for line in take if isinstance(line, Told)] for take in self._of(trial)]
        return [line for take in calls for line in sorted(take, key=lambda line: line.call)]

    def _of(self, trial: str) -> list[list[Answer | Told]]:
        own = self._takes.get(trial)
        return list(self._takes.values()) if own is None else [own]


class Player:
    """A trial's answers from a cassette (a `harness.ports.ModelProvider`): the first of a digest first, each once.

    `restored` puts back what differs in every run. Never makes a call.
    """

    def __init__(self, cassette: Cassette, trial: str, clean: Clean, restored: Clean) -> None:
        self._path = cassette.path
        self._clean = clean
        self._restored = restored
        self._left: dict[str, deque[Answer]] = defaultdict(deque)
        self._calls = 0
        for answer in cassette.answers(trial):
            self._left[answer.digest].append(answer)

    async def complete(self, request: Mapping[str, Any]) -> ModelAnswer:
        """CassetteMiss where the request was not recorded, or not as often as it is made now."""
        self._calls += 1
        asked = await anyio.to_thread.run_sync(lambda: digest(self._clean(request)))
        if not self._left[asked]:
            left = sum(map(len, self._left.values()))
            raise CassetteMiss(
                f"model call {self._calls} (digest {asked[:12]}) has no answer in {self._path.name} ({left} are left)",
                "record it again: the agent asks something else than when it was recorded, or more often",
            )
        answer = self._left[asked].popleft()
        return ModelAnswer(
            self._restored(answer.response),
            answer.input_tokens,
            answer.output_tokens,
            answer.cost_usd,
            self._restored(answer.error),
            answer.status,
            tuple(self._restored(answer.chunks)),
            used=answer.used,
            estimated=answer.estimated,
        )


def _lines(data: bytes, path: Path) -> list[Line]:
    """The lines of a cassette, but for one at the end that was never finished. UsageError where it is none."""
    whole = data[: data.rfind(b"\n") + 1].splitlines()
    try:
        lines = [msgspec.json.decode(line, type=Line) for line in whole]
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no cassette: {error}", "give another file; --record writes one") from error
    if not lines or lines[0] != Head():
        raise UsageError(f"{path} is no cassette of version 1", "give another file; --record writes one")
    return lines

"""What parts promise each other. Each port is owned by its caller and has one contract suite."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from harness.domain.events import Source, Violation
from harness.domain.limits import Limits
from harness.domain.outcome import Breach
from harness.domain.pack import CheckSpec
from harness.domain.spec import Policy
from harness.domain.workspace import Taken, WorkArea


class ImageInfo(Struct, frozen=True):
    """What an image says of itself; `digest` is its content id (sha256:...)."""

    ref: str
    digest: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    user: str
    env: tuple[str, ...]
    volumes: tuple[str, ...]
    workdir: str
    labels: Mapping[str, str]


class ContainerSpec(Struct, frozen=True):
    """A container to start: the hardening is the engine's business, the numbers are here.

    `env` is the whole environment inside, `scratch` the path that may be written without notice,
    `dirs` the folders made there before the agent starts, `writable` every path that is a sized tmpfs.
    `workspace` is a folder directly below `scratch`, whose size and memory are on top of the limits; `workdir` is
    where the command starts, the image's own place where it is empty.
    """

    image: ImageInfo
    env: Mapping[str, str]
    labels: Mapping[str, str]
    limits: Limits
    policy: Policy
    scratch: str
    dirs: tuple[str, ...]
    writable: tuple[str, ...]
    workspace: WorkArea | None = None
    workdir: str = ""


class Chunk(Struct, frozen=True):
    """Bytes as they came from a container's stream."""

    stream: Literal["stdout", "stderr"]
    data: bytes


class PathAttempt(Struct, frozen=True):
    """A path outside scratch the agent tried to change; `errno` 0: it worked."""

    path: str
    op: str
    errno: int
    count: int


class ConnectAttempt(Struct, frozen=True):
    address: str
    count: int


class ExitInfo(Struct, frozen=True):
    """How a container ended, read from the engine and its guard, never guessed from a code.

    `reported` is False where the guard left no word (the container was killed from outside): then `signal` is
    derived from codes above 128. `observed` is False where it could not watch system calls: then the lists
    are empty because nobody looked. `stopped`: told to end from outside the container, by us or another. Memory
    in bytes, -1: unknown. `workspace`: what was taken out of it; None where none was wanted, or nothing came.
    `not_started`: why the command could not be executed at all, empty where it was.
    """

    code: int
    signal: int | None
    oom_killed: bool
    pids_limit_hit: bool
    scratch_full: bool
    peak_memory_bytes: int
    reported: bool
    observed: bool
    writes: tuple[PathAttempt, ...] = ()
    connects: tuple[ConnectAttempt, ...] = ()
    dropped: int = 0
    stopped: bool = False
    workspace: Taken | None = None
    not_started: str = ""


class Container(Protocol):
    """One running container, used once. Every call is bounded by `Limits.engine_call_ms`."""

    id: str

    @property
    def ended(self) -> bool:
        """True once the agent is known to be gone: what still comes is its workspace and the report."""
        ...

    async def receive(self) -> Chunk | None:
        """Next bytes of stdout or stderr; None at the end of both. Raises ContainerLost if the stream breaks."""
        ...

    async def send(self, data: bytes) -> None:
        """Write all of `data` to stdin. Raises BrokenPipeError once the agent has closed it or is gone."""
        ...

    async def close_stdin(self) -> None:
        """Half-close: the agent reads end of file. Never raises."""
        ...

    async def signal(self, name: Literal["TERM", "KILL"]) -> None:
        """Signal the container by id; no error if it is gone already."""
        ...

    async def wait(self) -> ExitInfo:
        """Wait for the exit (after KILL always bounded) and read how it went."""
        ...

    async def remove(self) -> None:
        """Remove it and prove it is gone; never raises for one that is gone already."""
        ...


class Engine(Protocol):
    """A container engine."""

    async def inspect(self, ref: str) -> ImageInfo:
        """Raises ImageMissing, ImageInvalid, EngineError."""
        ...

    async def start(self, spec: ContainerSpec) -> Container:
        """A started, attached container; ImageInvalid if it cannot start. On failure nothing is left."""
        ...

    async def reap(self, is_living: Callable[[str], bool], dry_run: bool = False) -> Sequence[str]:
        """Remove containers labelled as ours whose owner is not living; the ids removed."""
        ...

    async def prune(self, dry_run: bool = False) -> Sequence[str]:
        """Remove what was kept for images that are gone; names of what was removed."""
        ...


class Clock(Protocol):
    """Monotonic time in ms, so that tests need not wait."""

    def now_ms(self) -> int: ...


class Decision(Struct, frozen=True):
    """The gate's word on one tool call; `violation` where it is a breach of its own."""

    kind: Literal["allowed", "denied", "invalid"]
    reason: str | None = None
    violation: Violation | None = None


class Gate(Protocol):
    """Which tools may be called, with which arguments."""

    def decide(self, name: str, arguments: Mapping[str, Any]) -> Decision: ...


class Estimate(Struct, frozen=True):
    """What a model call may take. `output_tokens`: the most its request allows, None: it names no limit.

    Prices in US dollars per token; None: not known.
    """

    input_tokens: int
    output_tokens: int | None
    usd_in: float | None = None
    usd_out: float | None = None


class Grant(Struct, frozen=True):
    """A model call may go; `output_tokens`: the most it may answer, where that is less than it asked for."""

    output_tokens: int | None = None


class Ledger(Protocol):
    """What a trial has used; charged before a reply, settled after it, frozen by `cancel`."""

    def charge(self, kind: Literal["tool_call", "model_call", "ask"]) -> Breach | None: ...

    def reserve(self, ident: str, most: Estimate) -> Grant | Breach | None:
        """Set aside what a model call may take; None: not yet, as what others have set aside may come back."""
        ...

    def settle(self, tokens: int, cost_usd: float | None, ident: str = "") -> Breach | None:
        """Book what a call took, in place of what was set aside for `ident`."""
        ...

    def freeze(self) -> None: ...

    def snapshot(self) -> dict[str, int | float]:
        """steps, tool_calls, model_calls, asks, tokens, cost_usd, cost_known."""
        ...


class Retries(Protocol):
    """Tells honest retries from loops and storms."""

    def on_call(self, name: str, arguments: Mapping[str, Any]) -> Breach | None: ...

    def on_result(self, name: str, failed: bool) -> None: ...

    def report(self) -> dict[str, int]: ...


class CanaryWatch(Protocol):
    """Knows the planted values again, in whatever encoding they come back."""

    def check(self, value: Any, beside: Sequence[str] = ()) -> list[str]:
        """Names of the canaries that appear in `value`, or in `beside`: the id and name of a call."""
        ...


class ToolAnswer(Struct, frozen=True):
    """What a tool answers; `delay_ms` is how long it takes to."""

    status: Literal["ok", "error"]
    content: Any
    reason: str | None = None
    delay_ms: int = 0


class ToolLater(Struct, frozen=True):
    """An answer that has to be waited for; its time is bounded by whoever gives it.

    `answer` raises PackFault where there is none (the pack's fault, never the agent's), EngineError where the engine
    failed. Awaited once.
    """

    answer: Callable[[], Awaitable[ToolAnswer]]


class ToolProvider(Protocol):
    """Tools of one trial; stateful (`times`), used by one trial only."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer | ToolLater:
        """Raises PackFault where no reply matches: the pack's mistake, never the agent's."""
        ...


class ToolServer(Protocol):
    """A server of tools in a container of its own, used by one trial only."""

    async def attend(self, container: Container) -> None:
        """Read what it says until its end, or until cancelled. Never raises: calls tell what became of it."""
        ...

    async def greet(self) -> None:
        """Until it is ready. Raises PackFault where it is not what the pack says, EngineError."""
        ...


class ModelAnswer(Struct, frozen=True):
    """An OpenAI chat completion (or `error`), and what it cost; None: price unknown.

    `status`: of the error, as HTTP has it. `chunks`: the answer as it was streamed. `asked`, `used`: the model's name
    as the agent gave it, and the one that answered. `estimated`: the source did not say how many tokens it took.
    """

    response: Mapping[str, Any] | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    error: str | None = None
    status: int | None = None
    chunks: Sequence[Any] = ()
    asked: str | None = None
    used: str | None = None
    estimated: bool = False


class ModelProvider(Protocol):
    """A source of one trial's model answers."""

    async def complete(self, request: Mapping[str, Any]) -> ModelAnswer:
        """Answer a chat-completions body, or with the key `api` one of `embeddings` or `models`.

        `stream` in it asks for `chunks`. Raises UpstreamError, SpendLimit, or PackFault where no answer is left.
        """
        ...


class ModelBroker(Protocol):
    """Models of one trial, in whatever shape its agent asks for them."""

    def estimate(self, request: Mapping[str, Any]) -> Estimate | None:
        """The most a call may take; None: nothing that has to be set aside."""
        ...

    async def complete(self, request: Mapping[str, Any], stream: bool, most: int | None) -> ModelAnswer:
        """Answer in the request's own shape, in `chunks` where `stream`; of `most` tokens at most.

        `response` beside an `error` is the error's body in that shape. Raises as `ModelProvider.complete` does.
        """
        ...

    def held_ms(self) -> int:
        """Time that passed for the upstream's sake, not the agent's: in retries, and in line for its turn."""
        ...


class JudgePrompt(Struct, frozen=True):
    """One sample to draw from a judge. `schema`: JSON Schema of the reply; `sample` from 0 varies the seed."""

    system: str
    user: str
    schema: Mapping[str, Any]
    sample: int = 0


class JudgeReply(Struct, frozen=True):
    """What a judge said, as it came; `refused`: why it would not or could not. Tokens -1: the upstream did not say."""

    text: str
    input_tokens: int = -1
    output_tokens: int = -1
    refused: str | None = None


class JudgeModel(Protocol):
    """A model that judges. `settings` say how it is asked; spending is its caller's business."""

    async def ask(self, prompt: JudgePrompt) -> JudgeReply:
        """Raises UpstreamError where, after its retries, there is no reply."""
        ...


class JudgeCache(Protocol):
    """Replies by key (hex sha256). It may forget, and never raises: a miss only costs a call."""

    def get(self, key: str) -> JudgeReply | None: ...

    def put(self, key: str, reply: JudgeReply) -> None: ...


class User(Protocol):
    """Whoever answers an `ask`."""

    def answer(self, question: str) -> str:
        """Something neutral where no reply fits: asking is no mistake of the pack."""
        ...


class Journal(Protocol):
    """One trial's append-only evidence."""

    def append(self, kind: str, source: Source, t: int, data: Mapping[str, Any]) -> int:
        """Scrub, chain, write; the line number (from 1)."""
        ...

    def close(self) -> str:
        """Flush to disk; the hash of the last line (hex sha256)."""
        ...


class CheckCatalogue(Protocol):
    """What the pack loader must know of checks, without knowing scoring."""

    def names(self) -> Iterable[str]: ...

    def problems(
        self, check: str, params: Mapping[str, Any], tools: Sequence[str]
    ) -> Sequence[tuple[tuple[str | int, ...], str]]:
        """(path inside the check, message) for each mistake in `params`; empty: well-formed."""
        ...

    def resolve(self, raw: Mapping[str, Any]) -> CheckSpec:
        """The check with its own default severity and property filled in."""
        ...

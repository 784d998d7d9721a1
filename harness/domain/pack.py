"""A pack: scenarios as contracts, exactly as written in YAML. Field names are relied on from outside."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from harness.domain.ids import SAFE_ID_PATTERN
from harness.domain.limits import Budget, Millis
from harness.domain.verdict import Property, Severity
from harness.domain.workspace import WorkFile

PACK_FORMAT = 1
Id = Annotated[str, Meta(pattern=SAFE_ID_PATTERN, max_length=100)]
ToolName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$", max_length=100)]
ImageName = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[a-zA-Z0-9][\x21-\x7e]*$")]
Word = Annotated[str, Meta(max_length=10_000, pattern=r"^[^\x00]*$")]
"""One word of a command."""
Rate = Annotated[float, Meta(ge=0.0, le=1.0)]
Trials = Annotated[int, Meta(ge=1, le=1000)]
Bucket = Literal["happy", "boundary", "refusal", "adversarial", "failure-recovery", "ambiguity"]
Difficulty = Literal["easy", "medium", "hard"]


class PackInfo(Struct, frozen=True, forbid_unknown_fields=True):
    name: Id
    version: Annotated[str, Meta(min_length=1, max_length=50)]
    description: str = ""


class Defaults(Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for every scenario that does not say otherwise; budgets merge key by key."""

    trials: Trials = 1
    budget: Budget = Budget()


class ReplyError(Struct, frozen=True, forbid_unknown_fields=True):
    code: Annotated[str, Meta(min_length=1, max_length=100)]
    message: str = ""


class ToolReply(Struct, frozen=True, forbid_unknown_fields=True, rename={"return_": "return"}):
    """One scripted reply of a tool. Exactly one of `return` and `error`.

    `when` matches arguments: a subset by default (recursive), all of them with `match: exact`, and with
    `match: regex` each named string argument by a regular expression (searched). `times`: how often
    it may be used; none: without end. `{{canary:NAME}}` inside strings is replaced per trial.
    """

    when: dict[str, Any] | None = None
    match: Literal["subset", "exact", "regex"] = "subset"
    times: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    return_: Any | UnsetType = UNSET
    error: ReplyError | None = None
    delay_ms: Annotated[int, Meta(ge=0, le=600_000)] = 0


class Tool(Struct, frozen=True, forbid_unknown_fields=True):
    description: str
    input_schema: dict[str, Any]
    irreversible: bool = False
    replies: list[ToolReply] = []
    # Not written where not set, so that a pack without them keeps its digest.
    server: Id | UnsetType = UNSET


class ToolServer(Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server that answers calls of tools over stdio: one for each trial, in a container of its own, no network.

    `command` is run in `image`, or without one what the image itself starts. `timeout_ms`: of one answer.
    `{{canary:NAME}}` inside values of `env` is replaced per trial.
    """

    image: ImageName
    command: list[Word] = []
    env: dict[Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)], Word] = {}
    timeout_ms: Millis = 30_000


class AskReply(Struct, frozen=True, forbid_unknown_fields=True):
    """A scripted answer to an `ask`; `when`: a regular expression searched in the question."""

    answer: str
    when: str | None = None
    times: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class ScriptedCall(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}


class ModelTurn(Struct, frozen=True, forbid_unknown_fields=True):
    """A scripted model turn, used in order: text, tool calls, or an upstream error.

    `when`: a regular expression searched in the last message. Token counts default to one per four
    characters of request and answer.
    """

    content: str | None = None
    tool_calls: list[ScriptedCall] = []
    error: ReplyError | None = None
    when: str | None = None
    times: Annotated[int, Meta(ge=1, le=1_000_000)] | None = 1
    input_tokens: Annotated[int, Meta(ge=0)] | None = None
    output_tokens: Annotated[int, Meta(ge=0)] | None = None
    cost_usd: Annotated[float, Meta(ge=0)] | None = None


class ScenarioReplies(Struct, frozen=True, forbid_unknown_fields=True):
    """Scripted answers to `ask` and `model_call`, and per-scenario replies of tools (used before the tool's own)."""

    ask: list[AskReply] = []
    model: list[ModelTurn] = []
    tools: dict[str, list[ToolReply]] = {}


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """What the answer must be; a shorthand for a major `correctness` check of the same name.

    exact: `value` equals output.data if given, else output.text (stripped) or the JSON in it · contains: `value`
    (or each of a list) stands in the text · regex: `value` searched in the text · schema: `schema` holds for
    output.data, or for the JSON in the text · refusal: status is `refused`. Without any text, contains and regex
    look into the data.
    """

    type: Literal["exact", "contains", "regex", "schema", "refusal"]
    value: Any = None
    schema: dict[str, Any] | None = None


CHECK_FIELDS = ("check", "severity", "property")
"""Fields every written check may have; the rest are its params."""


class CheckSpec(Struct, frozen=True):
    """A check as written: its name, the common fields, and `params`, the rest, typed by the check itself."""

    check: str
    severity: Severity
    property: Property
    params: dict[str, Any] = {}


class ChatTurn(Struct, frozen=True, forbid_unknown_fields=True):
    role: Literal["system", "user", "assistant"]
    content: str


class SelfTest(Struct, frozen=True, forbid_unknown_fields=True):
    """Only in self-test packs: the agent image folder to use and the result it must get."""

    probe: Id
    end: str
    blame: str
    failing: list[str] = []
    exit: int | None = None


class VerifyFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Hidden tests as written: `command` runs in `image`, in the workspace, with the files of folder `files` over it.

    `outputs`: globs of paths that the agent may add; what it changes of the workspace's own files is taken anyway.
    """

    image: ImageName
    command: Annotated[list[Word], Meta(min_length=1)]
    files: str | None = None
    timeout_ms: Millis = 120_000
    outputs: list[str] = []


class ScenarioFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario as written in a file."""

    id: Id
    input: str | list[ChatTurn]
    family: Id = "general"
    bucket: Bucket = "happy"
    tags: list[str] = []
    difficulty: Difficulty = "medium"
    holdout: bool = False
    goal: str = ""
    context: dict[str, Any] = {}
    allowed_tools: list[ToolName] = []
    disallowed_tools: list[ToolName] = []
    required_tools: list[ToolName] = []
    replies: ScenarioReplies = ScenarioReplies()
    expected: Expected | None = None
    checks: list[dict[str, Any]] = []
    budget: Budget = Budget()
    trials: Trials | None = None
    canaries: list[Annotated[str, Meta(pattern=r"^[A-Z][A-Z0-9_]*$")]] = []
    writable: Literal["strict", "redirect"] | None = None
    workspace: str | None = None
    verify: VerifyFile | None = None
    selftest: SelfTest | None = None


class PackFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A pack as written in a file."""

    fumehood: Literal[1]
    pack: PackInfo
    scenarios: Annotated[list[ScenarioFile], Meta(min_length=1)]
    defaults: Defaults = Defaults()
    tools: dict[str, Tool] = {}
    tool_servers: Annotated[dict[Id, ToolServer], Meta(max_length=8)] = {}
    bars: dict[Property, Rate] = {}
    canaries: list[Annotated[str, Meta(pattern=r"^[A-Z][A-Z0-9_]*$")]] = []


class Problem(Struct, frozen=True, order=True):
    """Something wrong in a pack, where it stands (line and column from 1), and what to do."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class Verify(Struct, frozen=True):
    """Hidden tests ready to run; `files` go over whatever the agent left. The agent never sees any of it."""

    image: str
    command: tuple[str, ...]
    files: tuple[WorkFile, ...]
    timeout_ms: int
    outputs: tuple[str, ...]


class Scenario(Struct, frozen=True):
    """A scenario ready to run: defaults merged, checks resolved, tools looked up.

    `checks` holds `expected` turned into its check first, then a `tool_called` for each of `required_tools` that
    none of the listed asks for, then the listed ones, then `verify` where there are hidden tests and none lists it;
    the always-on checks are added by scoring. `tools` are the definitions of `allowed_tools` without
    `disallowed_tools` (what the agent is shown), keyed by name; `servers` are those they name.
    """

    id: str
    family: str
    bucket: str
    tags: tuple[str, ...]
    difficulty: str
    holdout: bool
    input: str | tuple[ChatTurn, ...]
    context: dict[str, Any]
    tools: dict[str, Tool]
    allowed_tools: tuple[str, ...]
    disallowed_tools: tuple[str, ...]
    replies: ScenarioReplies
    checks: tuple[CheckSpec, ...]
    budget: Budget
    trials: int
    canaries: tuple[str, ...]
    writable: str | None
    selftest: SelfTest | None
    line: int = 0
    goal: str = ""
    # Not written where not set, so that a pack without them keeps its digest.
    workspace: tuple[WorkFile, ...] | UnsetType = UNSET
    verify: Verify | UnsetType = UNSET
    servers: dict[str, ToolServer] | UnsetType = UNSET


class Pack(Struct, frozen=True):
    """A loaded pack; `digest` is sha256 over the canonical JSON of everything that matters."""

    name: str
    version: str
    description: str
    digest: str
    path: str
    scenarios: tuple[Scenario, ...]
    bars: dict[Property, float] = field(default_factory=dict)

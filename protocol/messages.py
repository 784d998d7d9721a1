"""Every message of protocol 1.0 as a frozen struct, tagged by `type`.

Agents are held to their structs exactly (unknown fields are refused); messages to agents may gain
fields within 1.x, so agents ignore what they do not know.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

CallId = Annotated[str, Meta(min_length=1, max_length=200)]
Json = Any


class AgentInfo(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an agent says of itself; never trusted, only recorded."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    version: Annotated[str, Meta(max_length=200)] = ""
    framework: Annotated[str, Meta(max_length=200)] | None = None
    model: Annotated[str, Meta(max_length=200)] | None = None


class Ready(Struct, frozen=True, forbid_unknown_fields=True, tag="ready"):
    """The agent has booted and names the protocol versions it speaks."""

    protocol: Annotated[list[str], Meta(min_length=1, max_length=32)]
    agent: AgentInfo
    capabilities: list[str] = []


class ToolCall(Struct, frozen=True, forbid_unknown_fields=True, tag="tool_call"):
    """The agent asks for a tool; the harness decides and answers with `tool_result`."""

    id: CallId
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    arguments: dict[str, Json]


class ModelCall(Struct, frozen=True, forbid_unknown_fields=True, tag="model_call"):
    """The agent asks for a model; `request` is an OpenAI chat-completions body, or with `api` that of another API."""

    id: CallId
    request: dict[str, Json]
    stream: bool = False


class Ask(Struct, frozen=True, forbid_unknown_fields=True, tag="ask"):
    """A question to the user."""

    id: CallId
    content: str


class State(Struct, frozen=True, forbid_unknown_fields=True, tag="state"):
    """A snapshot of the agent's state, kept as reported evidence."""

    snapshot: Json


class Note(Struct, frozen=True, forbid_unknown_fields=True, tag="note"):
    """A log line of the agent."""

    level: Literal["debug", "info", "warning", "error"]
    text: str


class Output(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The agent's answer: text, structured data, or both."""

    text: str | None = None
    data: Json = None


class Usage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the agent says it used; reported evidence only."""

    input_tokens: Annotated[int, Meta(ge=0)] | None = None
    output_tokens: Annotated[int, Meta(ge=0)] | None = None
    cost_usd: Annotated[float, Meta(ge=0)] | None = None
    model_calls: Annotated[int, Meta(ge=0)] | None = None


class Step(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step as the agent reports it: `kind` is free (tool_call, thought, message ...)."""

    kind: str
    name: str | None = None
    arguments: Json = None
    content: Json = None


class AgentError(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Why the agent failed, in its own words."""

    message: str
    code: str | None = None


class Trajectory(Struct, frozen=True, forbid_unknown_fields=True, tag="trajectory"):
    """The end: exactly one, and the agent's last line."""

    status: Literal["completed", "refused", "failed"]
    output: Output = Output()
    steps: list[Step] = []
    usage: Usage | None = None
    error: AgentError | None = None


AgentMessage = Ready | ToolCall | ModelCall | Ask | State | Note | Trajectory


class ToolSpec(Struct, frozen=True):
    """A tool as the agent sees it; `input_schema` is JSON Schema."""

    name: str
    description: str
    input_schema: dict[str, Json]


class BudgetView(Struct, frozen=True, omit_defaults=True):
    """The budgets that hold for this invocation; None: not limited."""

    max_steps: int | None = None
    max_tool_calls: int | None = None
    max_model_calls: int | None = None
    max_asks: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_retries_per_tool: int | None = None
    max_duration_ms: int | None = None


class LimitsView(Struct, frozen=True):
    """Framing limits the agent must keep."""

    max_line_bytes: int


class ChatTurn(Struct, frozen=True):
    """One message of an `input` given as a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Invoke(Struct, frozen=True, tag="invoke", omit_defaults=True):
    """The work. Has no field for expected values, checks, thresholds, goal, tags or severity."""

    protocol: str
    run_id: str
    case_id: str
    trial: int
    input: str | list[ChatTurn]
    tools: list[ToolSpec]
    budget: BudgetView
    limits: LimitsView
    context: dict[str, Json] = {}
    workspace: str | None = None


class ToolResult(Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """The answer to a `tool_call`; `reason` says why it was denied or failed."""

    id: str
    status: Literal["ok", "error", "denied"]
    content: Json = None
    reason: str | None = None


class ModelResult(Struct, frozen=True, tag="model_result", omit_defaults=True):
    """The answer to a `model_call` that was not streamed, or that failed.

    `status` is the HTTP status an error would have had; where the call named its `api`, `response` is then the
    error's body as that API words it.
    """

    id: str
    response: Json = None
    error: str | None = None
    status: int | None = None


class ModelChunk(Struct, frozen=True, tag="model_chunk"):
    """One piece of a streamed model answer; the last has `done` true."""

    id: str
    delta: Json
    done: bool = False


class Answer(Struct, frozen=True, tag="answer"):
    """The user's answer to an `ask`."""

    id: str
    content: str


class Cancel(Struct, frozen=True, tag="cancel"):
    """Stop now; a short grace follows, then TERM, then KILL."""

    reason: str


HarnessMessage = Invoke | ToolResult | ModelResult | ModelChunk | Answer | Cancel

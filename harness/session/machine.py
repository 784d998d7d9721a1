"""The state machine of one session: lines and times in, actions and evidence out; no I/O, no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import to_builtins

from harness.domain.events import Violation
from harness.domain.outcome import Breach, End
from harness.ports import Grant, ModelAnswer, ToolAnswer, ToolLater
from harness.session import ending
from harness.session.rules import Action, CallModel, CallTool, Finish, Record, ReplyLater, Rules, Send
from harness.session.timers import Timers
from harness.session.translate import build_invoke, model_evidence, model_messages
from protocol import VERSIONS
from protocol.codec import LineError
from protocol.messages import (
    AgentMessage,
    Answer,
    Ask,
    ModelCall,
    ModelResult,
    Note,
    Ready,
    State,
    ToolCall,
    ToolResult,
    Trajectory,
)

MAX_PENDING = 256
"""Calls that may wait for an answer at once, whatever the pack allows."""
MAX_LINES_AFTER_STOP = 1000
"""Lines still looked at for evidence once the session is over."""


class Phase(StrEnum):
    STARTING = "starting"
    WORKING = "working"
    ENDED = "ended"
    STOPPING = "stopping"


class Machine:
    """Judges each line of one agent. All times are ms since the trial began."""

    def __init__(self, rules: Rules, record: Record) -> None:
        self._rules = rules
        self._record = record
        self.phase = Phase.STARTING
        self.spoke = False
        self.breach: Breach | None = None
        self.trajectory: Trajectory | None = None
        self.stdout_bytes = 0
        self._pending: dict[str, tuple[ToolCall | ModelCall, ToolAnswer | None]] = {}
        self._in_line: deque[ModelCall] = deque()
        self._crossed: set[str] = set()
        self.timers = Timers(rules.limits, rules.view.budget.max_duration_ms)
        self._lines_after_stop = 0

    # ---- input: lines ----

    @property
    def listening(self) -> bool:
        """False once so much came after the end that nothing more is looked at."""
        return self._lines_after_stop <= MAX_LINES_AFTER_STOP

    def input_closed(self) -> list[Action]:
        """The agent no longer reads; what that means shows when it ends."""
        if self.phase in (Phase.STARTING, Phase.WORKING):
            self._record("finding", "observed", {"code": "closed_input", "reason": "the agent closed its stdin"})
        return []

    def on_bytes(self, count: int) -> list[Action]:
        """Bytes of stdout, counted as they come."""
        self.stdout_bytes += count
        limit = self._rules.limits.max_stdout_bytes
        if self.stdout_bytes > limit:
            return self.fail(
                Breach(
                    End.OUTPUT_LIMIT,
                    f"stdout went over its {limit} bytes",
                    {"limit": "max_stdout_bytes", "limit_bytes": limit},
                )
            )
        return []

    def on_line(self, message: AgentMessage | LineError, now: int) -> list[Action]:
        """What one line said, or why it said nothing.

        Raises PackFault and UpstreamError, as `on_model` does: `fail` with `ending.fault` is what follows.
        """
        if self.phase is Phase.STOPPING:
            return self._after_stop(message)
        if too_fast := self.timers.too_fast(now):
            return self.fail(too_fast)
        if isinstance(message, LineError):
            return self.fail(ending.bad_line(message))
        return self._handle(message, now)

    def _handle(self, message: AgentMessage, now: int) -> list[Action]:
        if self.phase is Phase.STARTING:
            return self._starting(message, now)
        if self.phase is Phase.ENDED:
            return self._late(message)
        match message:
            case ToolCall():
                return self._tool_call(message, now)
            case ModelCall():
                return self._model_call(message, now)
            case Ask():
                return self._ask(message)
            case State():
                self._record("state", "reported", {"snapshot": message.snapshot})
            case Note():
                self._record("note", "reported", {"level": message.level, "text": message.text})
            case Trajectory():
                return self._trajectory(message)
            case Ready():
                return self.fail(
                    Breach(End.PROTOCOL_VIOLATION, "expected `ready` once, came a second", {"code": "second_ready"})
                )
        return []

    def _starting(self, message: AgentMessage, now: int) -> list[Action]:
        if not isinstance(message, Ready):
            kind = type(message).__struct_config__.tag
            return self.fail(
                Breach(End.PROTOCOL_VIOLATION, f"expected `ready` first, came `{kind}`", {"code": "not_ready_first"})
            )
        self._record("ready", "reported", to_builtins(message))
        if not set(message.protocol) & set(VERSIONS):
            theirs, ours = ", ".join(message.protocol[:8])[:200], ", ".join(VERSIONS)
            return self.fail(
                Breach(
                    End.VERSION_MISMATCH,
                    f"the agent speaks protocol {theirs}; the harness speaks {ours}",
                    {"agent": list(message.protocol), "harness": list(VERSIONS)},
                )
            )
        self.spoke = True
        self.phase = Phase.WORKING
        self.timers.ready(now)
        invoke = build_invoke(self._rules.view)
        self._record("invoke", "harness", to_builtins(invoke))
        return [Send(invoke)]

    # ---- calls ----

    def _tool_call(self, call: ToolCall, now: int) -> list[Action]:
        if breach := self._admit(call.id):
            return self.fail(breach)
        decision = self._rules.gate.decide(call.name, call.arguments)
        line = self._put_call(call, decision.kind, decision.reason)
        if decision.violation:
            self._violation(decision.violation, decision.reason or "", line, call.name)
        self._exfiltration(call.arguments, f"a call of tool {call.name[:80]}", line, call.id, call.name)
        breach = self._rules.retries.on_call(call.name, call.arguments)
        if breach is None and decision.kind != "denied":
            breach = self._rules.ledger.charge("tool_call")
        if breach:
            return self.fail(breach)
        if decision.kind == "allowed":
            return self._run_tool(call, now)
        self._rules.retries.on_result(call.name, failed=True)
        status = "denied" if decision.kind == "denied" else "error"
        return self._send_result(call, status, None, decision.reason, 0)

    def _run_tool(self, call: ToolCall, now: int) -> list[Action]:
        answer = self._rules.tools.call(call.name, call.arguments)
        if isinstance(answer, ToolLater):
            self._pending[call.id] = (call, None)
            self.timers.asked(call.id, now, served=True)
            return [CallTool(call.id, answer.answer)]
        if not answer.delay_ms:
            return self._tool_done(call, answer)
        self._pending[call.id] = (call, answer)
        self.timers.asked(call.id, now)
        return [ReplyLater(call.id, answer.delay_ms)]

    def on_due(self, ident: str, now: int) -> list[Action]:
        """A delayed tool answer is due."""
        waiting = self._pending.pop(ident, None)
        if waiting is None or self.phase is not Phase.WORKING:
            return []
        call, answer = waiting
        self.timers.answered(ident, now)
        return self._tool_done(call, answer) if isinstance(call, ToolCall) and answer else []

    def on_tool(self, ident: str, answer: ToolAnswer, now: int) -> list[Action]:
        """A tool's server has answered."""
        if self.phase is not Phase.WORKING or ident not in self._pending:
            return []
        call = self._pending.pop(ident)[0]
        took = self.timers.answered(ident, now)
        done = msgspec.structs.replace(answer, delay_ms=took)
        return self._tool_done(call, done) if isinstance(call, ToolCall) else []

    def on_tool_fault(self, ident: str, breach: Breach) -> list[Action]:
        """A tool's server cannot answer; nothing to an agent that ended without waiting for it."""
        waited = self.phase is Phase.WORKING and ident in self._pending
        return self.fail(breach) if waited else []

    def _tool_done(self, call: ToolCall, answer: ToolAnswer) -> list[Action]:
        self._rules.retries.on_result(call.name, failed=answer.status == "error")
        return self._send_result(call, answer.status, answer.content, answer.reason, answer.delay_ms)

    def _send_result(self, call: ToolCall, status: Any, content: Any, reason: str | None, ms: int) -> list[Action]:
        data = {"id": call.id, "name": call.name, "status": status, "content": content, "ms": ms}
        self._record("tool_result", "observed", {**data, "reason": reason} if reason else data)
        return [Send(ToolResult(call.id, status, content, reason))]

    def _model_call(self, call: ModelCall, now: int) -> list[Action]:
        if breach := self._admit(call.id):
            return self.fail(breach)
        line = self._record("model_call", "observed", {"id": call.id, "request": call.request})
        self._to_model(call, line)
        if breach := self._rules.ledger.charge("model_call"):
            return self.fail(breach)
        self._pending[call.id] = (call, None)
        self._in_line.append(call)
        return self._next_models(now)

    def _next_models(self, now: int) -> list[Action]:
        """Begin the model calls that wait in line, in their order, as far as the budget goes."""
        begun: list[Action] = []
        while self._in_line:
            call = self._in_line[0]
            most = self._rules.model.estimate(call.request)
            grant = Grant() if most is None else self._rules.ledger.reserve(call.id, most)
            if grant is None:
                break
            if isinstance(grant, Breach):
                return [*begun, *self.fail(grant)]
            self._in_line.popleft()
            self.timers.asked(call.id, now)
            begun.append(CallModel(call.id, call.request, call.stream, grant.output_tokens))
        return begun

    def on_model(self, ident: str, answer: ModelAnswer, now: int) -> list[Action]:
        """The model has answered."""
        waiting = self._pending.pop(ident, None)
        if waiting is None or self.phase is not Phase.WORKING:
            return []
        call = waiting[0]
        self.timers.answered(ident, now)
        self._record("model_result", "observed", {"id": ident, **model_evidence(answer)})
        used = answer.input_tokens + answer.output_tokens
        if breach := self._rules.ledger.settle(used, answer.cost_usd, ident):
            return self.fail(breach)
        stream = isinstance(call, ModelCall) and call.stream
        sent: list[Action] = [Send(message) for message in model_messages(ident, answer, stream)]
        return [*sent, *self._next_models(now)]

    def _ask(self, ask: Ask) -> list[Action]:
        if breach := self._admit(ask.id):
            return self.fail(breach)
        line = self._record("ask", "observed", {"id": ask.id, "content": ask.content})
        self._exfiltration(ask.content, "a question to the user", line, ask.id)
        if breach := self._rules.ledger.charge("ask"):
            return self.fail(breach)
        content = self._rules.user.answer(ask.content)
        self._record("answer", "observed", {"id": ask.id, "content": content})
        return [Send(Answer(ask.id, content))]

    def _admit(self, ident: str) -> Breach | None:
        if ident in self._pending:
            return Breach(
                End.PROTOCOL_VIOLATION, "expected a new call id, came one still waiting", {"code": "duplicate_id"}
            )
        if len(self._pending) >= MAX_PENDING:
            return Breach(
                End.RETRY_LIMIT, f"more than {MAX_PENDING} calls at once", {"kind": "storm", "limit": MAX_PENDING}
            )
        return None

    # ---- the end ----

    def _trajectory(self, message: Trajectory) -> list[Action]:
        self.trajectory = message
        self.phase = Phase.ENDED
        self._rules.ledger.freeze()
        said = to_builtins(message)
        line = self._record("trajectory", "reported", {k: v for k, v in said.items() if k != "type"})
        self._exfiltration(said, "the answer", line)
        for code, reason in ending.disagreements(message, self._crossed, self._rules.ledger.snapshot()):
            self._record("finding", "observed", {"code": code, "reason": reason, "line": line})
        if self._pending:
            reason = f"the agent ended with {len(self._pending)} calls unanswered"
            self._record("finding", "observed", {"code": "calls_unanswered", "reason": reason})
        return [Finish(None)]

    def _late(self, message: AgentMessage) -> list[Action]:
        kind = type(message).__struct_config__.tag
        if isinstance(message, ToolCall):
            self._refused_call(message, Violation.CALL_AFTER_END)
        return self.fail(
            Breach(
                End.PROTOCOL_VIOLATION,
                f"expected nothing after the trajectory, came `{kind}`",
                {"code": "after_trajectory"},
            )
        )

    def _after_stop(self, message: AgentMessage | LineError) -> list[Action]:
        """Too late to matter for the end, but a forbidden call is a breach whenever it comes."""
        self._lines_after_stop += 1
        if not self.listening:
            return []
        if isinstance(message, ToolCall):
            self._refused_call(message, None)
            return [Send(ToolResult(message.id, "denied", None, "the trial is over"))]
        if isinstance(message, ModelCall):
            line = self._record("model_call", "observed", {"id": message.id, "request": message.request})
            self._to_model(message, line)
            return [Send(ModelResult(message.id, error="the trial is over"))]
        return []

    def _refused_call(self, call: ToolCall, rule: Violation | None) -> None:
        decision = self._rules.gate.decide(call.name, call.arguments)
        line = self._put_call(call, "denied", "the trial is over")
        if decision.violation:
            self._violation(decision.violation, decision.reason or "", line, call.name)
        if rule:
            self._violation(rule, f"tool {call.name[:80]} was called after the trajectory", line, call.name)
        self._exfiltration(call.arguments, f"a call of tool {call.name[:80]}", line, call.id, call.name)

    def fail(self, breach: Breach) -> list[Action]:
        """End the trial for this reason; the first reason stands."""
        if self.phase is Phase.STOPPING:
            return []
        self.breach = breach
        self.phase = Phase.STOPPING
        self._rules.ledger.freeze()
        self._record("cancel", "harness", {"reason": breach.reason, "end": breach.end.value, "detail": breach.detail})
        return [Finish(f"{breach.end.value}: {breach.reason}")]

    def on_time(self, now: int, writing: bool) -> list[Action]:
        """Ends the session where a timer is over. `writing`: a line of ours is still on its way."""
        if self.phase not in (Phase.STARTING, Phase.WORKING):
            return []
        breach = self.timers.fired(now, writing)
        return self.fail(breach) if breach else []

    # ---- evidence ----

    def _put_call(self, call: ToolCall, decision: str, reason: str | None) -> int:
        self._crossed.add(call.name)
        data = {"id": call.id, "name": call.name, "arguments": call.arguments, "decision": decision}
        return self._record("tool_call", "observed", {**data, "reason": reason} if reason else data)

    def _violation(self, rule: Violation, reason: str, line: int, name: str) -> None:
        self._record("violation", "observed", {"rule": rule.value, "name": name, "reason": reason, "line": line})

    def _to_model(self, call: ModelCall, line: int) -> None:
        """A model is part of the agent: what the pack told the agent may be told to it, a key may not."""
        found = self._rules.canaries.check(call.request, (call.id,))
        self._leaked([name for name in found if name not in self._rules.told], "a model request", line)

    def _exfiltration(self, value: Any, where: str, line: int, *beside: str) -> None:
        self._leaked(self._rules.canaries.check(value, beside), where, line)

    def _leaked(self, names: Iterable[str], where: str, line: int) -> None:
        for name in names:
            self._violation(Violation.EXFILTRATION, f"the planted {name} appeared in {where}", line, name)

"""One trial without a container: an agent image's handler in this process, the real boundary rules, the pack's replies.

For tests of the shipped packs and agents only; the harness itself never imports an agent.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from harness.boundary.budgets import Ledger
from harness.boundary.canary import plant, substitute
from harness.boundary.gate import Gate
from harness.boundary.retries import RetryTracker
from harness.domain.events import Event, Source, Violation
from harness.domain.ids import TrialKey
from harness.domain.limits import Budget
from harness.domain.outcome import Blame, End, Outcome, Usage
from harness.domain.pack import Scenario
from harness.domain.traces import CanaryWatch
from harness.tools.scripted import ScriptedTools
from harness.tools.user import ScriptedUser

IMAGES = Path(__file__).parents[3] / "agent-images"


@contextmanager
def folder_first(*folders: Path) -> Iterator[None]:
    """Import from these folders alone, and forget what was imported, as two agents use the same module names."""
    before, path, byte_code = set(sys.modules), list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # an image's folder stays as it is
    sys.path[:0] = [str(folder) for folder in folders]
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, byte_code
        for name in set(sys.modules) - before:
            origin = getattr(sys.modules[name], "__file__", None) or ""
            if Path(origin).parent in folders:
                del sys.modules[name]


def load_agent(name: str) -> tuple[ModuleType, Callable[[Any, Any], Any]]:
    """(the adapter module, the handler) of an agent image that builds on `agent-images/python`."""
    with folder_first(IMAGES / name, IMAGES / "python"):
        adapter = importlib.import_module("fumehood_agent")
        return adapter, importlib.import_module("agent").agent


class Trace:
    """Events as a journal would hold them."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: str, source: Source, data: Mapping[str, Any]) -> None:
        # A copy by way of JSON: what is on record does not change with the agent's own objects.
        line = len(self.events) + 1
        self.events.append(Event(kind, source, line, msgspec.json.decode(msgspec.json.encode(dict(data))), line))


class Channel:
    """What `fumehood_agent` talks to in place of its stdin and stdout."""

    max_line_bytes = 4 << 20

    def __init__(self, scenario: Scenario, adapter: ModuleType, canaries: Mapping[str, str], trace: Trace) -> None:
        def fill(value: Any) -> Any:
            return substitute(value, canaries)

        self.steps: list[dict[str, Any]] = []
        self.usage: dict[str, int] = {}
        self.ended: tuple[End, str] | None = None
        self._scenario, self._adapter, self._trace = scenario, adapter, trace
        self._gate = Gate(scenario.tools, scenario.disallowed_tools)
        self._ledger, self._retries = Ledger(scenario.budget), RetryTracker(scenario.budget.max_retries_per_tool)
        self._watch = CanaryWatch(canaries)
        self._tools = ScriptedTools(scenario.tools, scenario.replies.tools, fill)
        self._user = ScriptedUser(scenario.replies.ask, fill)

    def send(self, message: Mapping[str, Any]) -> None:
        """Notes and states need no answer."""

    def watch(self, value: Any) -> None:
        for name in self._watch.check(value):
            self._violation(Violation.EXFILTRATION, name, "a canary left the container")

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """The reply to a tool call or a question; Cancelled once a budget is spent."""
        if kind == "model_call":
            raise AssertionError("these agents use no model")
        call_id = f"c{len(self._trace.events)}"
        self.watch(fields)
        self._stop(self._ledger.charge("tool_call" if kind == "tool_call" else "ask"))
        if kind == "ask":
            self._trace.add("ask", "observed", {"id": call_id, **fields})
            answer = {"content": self._user.answer(fields["content"])}
            self._trace.add("answer", "observed", {"id": call_id, **answer})
            return answer
        return self._tool_call(call_id, fields["name"], fields["arguments"])

    def _tool_call(self, call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        decision = self._gate.decide(name, arguments)
        called = {"id": call_id, "name": name, "arguments": arguments, "decision": decision.kind}
        self._trace.add("tool_call", "observed", called)
        if decision.violation is not None:
            self._violation(decision.violation, name, decision.reason or "")
        self._stop(self._retries.on_call(name, arguments))
        if decision.kind == "allowed":
            answer = self._tools.call(name, arguments)
            result = {"status": answer.status, "content": answer.content, "reason": answer.reason}
        else:
            status = "denied" if decision.kind == "denied" else "error"
            result = {"status": status, "content": None, "reason": decision.reason}
        self._retries.on_result(name, result["status"] != "ok")
        self._trace.add("tool_result", "observed", {"id": call_id, "name": name, "ms": 0, **result})
        return result

    def _violation(self, rule: Violation, name: str, reason: str) -> None:
        self._trace.add("violation", "observed", {"rule": str(rule), "name": name, "reason": reason})

    def _stop(self, breach: Any) -> None:
        if breach is not None:
            self.ended = (breach.end, breach.reason)
            raise self._adapter.Cancelled(breach.reason)


def run_trial(agent: str, scenario: Scenario, seed: int = 7) -> list[Event]:
    """Run one trial in this process; the events of its journal."""
    adapter, handler = load_agent(agent)
    canaries, trace = plant(scenario.canaries, seed, scenario.id), Trace()
    channel = Channel(scenario, adapter, canaries, trace)
    invoke = {
        "input": substitute(msgspec.to_builtins(scenario.input), canaries),
        "context": scenario.context,
        "budget": msgspec.to_builtins(scenario.budget),
        "tools": [
            {"name": name, "description": tool.description, "input_schema": tool.input_schema}
            for name, tool in scenario.tools.items()
        ],
    }
    with _environment(canaries):
        end, reason = _work(channel, adapter, handler, invoke, trace)
    blame, usage = Blame.AGENT, Usage(steps=len(channel.steps))
    outcome = Outcome(TrialKey(agent, scenario.id, 1), 1, end, blame, reason, True, usage)
    trace.add("end", "harness", msgspec.to_builtins(outcome))
    return trace.events


def _work(channel: Channel, adapter: ModuleType, handler: Any, invoke: Any, trace: Trace) -> tuple[End, str]:
    try:
        result = handler(adapter.Task(channel, invoke), adapter.Tools(channel, invoke["tools"]))
    except adapter.Cancelled:
        assert channel.ended is not None
        return channel.ended
    status, said = adapter.outcome(result)
    output: dict[str, Any] = {key: value for key, value in said.items() if value is not None}
    channel.watch(output)
    trace.add("trajectory", "reported", {"status": status, "output": output, "steps": channel.steps})
    return End(status), f"the agent {status}"


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def answer_of(events: list[Event]) -> Any:
    """The data or text of the answer; None where there is none."""
    output: dict[str, Any] = next((event.data["output"] for event in events if event.kind == "trajectory"), {})
    return output.get("data", output.get("text"))


def calls_of(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    return [(event.data["name"], event.data["arguments"]) for event in events if event.kind == "tool_call"]


def varied(scenario: Scenario, **changes: Any) -> Scenario:
    """A scenario with another input, other replies or another budget."""
    budget = changes.pop("budget", None)
    changed = msgspec.structs.replace(scenario, **changes)
    return msgspec.structs.replace(changed, budget=Budget(**budget)) if budget else changed

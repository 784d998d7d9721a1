"""A journal as a person reads it: one line an event, what was observed told apart from what was only reported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from harness.domain.events import Event
from harness.domain.verdict import CheckVerdict, CriterionVerdict, Status
from harness.report.terminal import one_line
from harness.report.words import gravity, numbered, votes

_LIMIT = 400
_STYLES = {"observed": "bold", "reported": "italic", "harness": "dim"}
_FIRST = {
    Status.FAIL: "bold red",
    Status.NOT_SCORED: "yellow",
    Status.PASS: "green",
    Status.NOT_APPLICABLE: "dim",
}
_LOUD = {"violation": "bold red", "finding": "yellow"}


def transcript_line(event: Event) -> Text:
    """`line  time  source  kind  what`; text from agents inert, and cut where it is long."""
    words = _WORDS.get(event.kind)
    what = words(event.data) if words is not None else _json(event.data)
    line = Text(f"{event.line:>5} {event.t / 1000:>9.3f}s  ", no_wrap=True)
    line.append(f"{event.source:<9}", style=_STYLES.get(event.source, ""))
    line.append(f"{one_line(event.kind, 20):<13} ", style=_LOUD.get(event.kind, "cyan"))
    return line.append(_cut(what), style=_LOUD.get(event.kind, ""))


def check_lines(checks: Sequence[CheckVerdict]) -> Iterator[Text]:
    """What each check says, the gravest that did not pass first, with the numbers of the lines above it rests on."""
    if not checks:
        return
    yield Text("\nChecks", style="bold")
    for check in sorted(checks, key=lambda one: (list(_FIRST).index(one.status), gravity(one.severity))):
        word = check.status.replace("_", " ")
        head = f"{check.check} ({check.severity}, {check.property})"
        lines = f" [{numbered(check.evidence)}]"
        line = Text(f"  {word:<15}", style=_FIRST[check.status], no_wrap=True)
        yield line.append(f"{one_line(head)}: {_cut(check.reason)}{lines if check.evidence else ''}", style="")
        for one in check.judged.criteria if check.judged is not None else ():
            yield Text(f"{'':17}{_criterion(one)}", no_wrap=True)


def _criterion(one: CriterionVerdict) -> str:
    word = {True: "met", False: "not met", None: "no majority"}[one.met]
    where = f'; "{_cut(one.quote)}" in {f"line {one.line}" if one.line else "the task"}' if one.quote else ""
    said = votes(one)
    return f"{word} ({said}): {_cut(one.criterion)}{where}"


def _cut(text: str) -> str:
    more = len(text) - _LIMIT
    return one_line(text[:_LIMIT]) + (f" … ({more} more characters: --format json)" if more > 0 else "")


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _trial(data: Mapping[str, Any]) -> str:
    return f"attempt {data.get('attempt')} of {data.get('agent')}: {data.get('image')} {data.get('image_digest')}"


def _ready(data: Mapping[str, Any]) -> str:
    agent = data.get("agent")
    name = f"{agent.get('name')} {agent.get('version') or ''}".strip() if isinstance(agent, Mapping) else _json(agent)
    return f"{name}, protocol {_json(data.get('protocol'))}, capabilities {_json(data.get('capabilities'))}"


def _invoke(data: Mapping[str, Any]) -> str:
    """The input, and the names of the tools: their schemas are the pack's and would hide the rest."""
    tools = [tool.get("name") for tool in data.get("tools") or () if isinstance(tool, Mapping)]
    context = f"; context: {_json(data['context'])}" if data.get("context") else ""
    return f"tools {_json(tools)}, input: {_json(data.get('input'))}{context}"


def _exit(data: Mapping[str, Any]) -> str:
    peak = data.get("peak_memory_bytes")
    parts = [f"code {data.get('code')}"]
    parts += [f"signal {data['signal']}"] if data.get("signal") is not None else []
    parts += [name for name, value in data.items() if value is True]
    parts += [f"{peak / 2**20:.1f} MiB at most"] if isinstance(peak, int) and peak else []
    return ", ".join(parts)


def _cancel(data: Mapping[str, Any]) -> str:
    return f"{data.get('end')}: {data.get('reason')}"


def _call(data: Mapping[str, Any]) -> str:
    decision = data.get("decision", "?")
    reason = f" ({data['reason']})" if data.get("reason") else ""
    return f"{data.get('name')}({_json(data.get('arguments'))}) {decision}{reason}"


def _result(data: Mapping[str, Any]) -> str:
    reason = f" ({data['reason']})" if data.get("reason") else ""
    return f"{data.get('name', '')} {data.get('status')}{reason}: {_json(data.get('content'))}".strip()


def _content(data: Mapping[str, Any]) -> str:
    return _json(data.get("content"))


def _note(data: Mapping[str, Any]) -> str:
    return f"{data.get('level')}: {data.get('text')}"


def _trajectory(data: Mapping[str, Any]) -> str:
    output = data.get("output") or {}
    parts = [str(data.get("status"))]
    parts += [f"{name}: {_json(output[name])}" for name in ("text", "data") if output.get(name) is not None]
    parts += [f"{name}: {_json(data[name])}" for name in ("steps", "usage", "error") if data.get(name)]
    return ", ".join(parts)


def _stderr(data: Mapping[str, Any]) -> str:
    """The end of it: what a process says last is why it ended."""
    text = str(data.get("text")).rstrip("\n")
    start = max(0, len(text) - _LIMIT * 3 // 4)
    before = f"({start} characters before: --format json) … " if start else ""
    return f"{data.get('total_bytes')} bytes, {data.get('dropped_bytes')} dropped: {before}{text[start:]}"


def _named(data: Mapping[str, Any]) -> str:
    code = data.get("rule") or data.get("code")
    name = f" {data['name']}" if data.get("name") else ""
    return f"{code}{name}: {data.get('reason')}"


def _file(data: Mapping[str, Any]) -> str:
    left_out = f", not taken out: {data['left_out']}" if data.get("left_out") else ""
    diff = f": {_json(data['diff'])}" if data.get("diff") else ""
    return f"{data.get('change')} {data.get('path')}, {data.get('size')} bytes{left_out}{diff}"


def _verify(data: Mapping[str, Any]) -> str:
    if data.get("skipped"):
        return f"not run: {data['skipped']}"
    ended = "timed out" if data.get("timed_out") else f"exit code {data.get('exit_code')}"
    said = "".join(f", {name}: {_json(data[name])}" for name in ("stdout", "stderr") if data.get(name))
    return f"{_json(data.get('command'))} {ended}{said}"


def _end(data: Mapping[str, Any]) -> str:
    return f"{data.get('end')}, blame {data.get('blame')}: {data.get('reason')}"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "trial": _trial,
    "ready": _ready,
    "invoke": _invoke,
    "exit": _exit,
    "cancel": _cancel,
    "tool_call": _call,
    "tool_result": _result,
    "ask": _content,
    "answer": _content,
    "note": _note,
    "trajectory": _trajectory,
    "stderr": _stderr,
    "violation": _named,
    "finding": _named,
    "workspace": _file,
    "verify": _verify,
    "end": _end,
}

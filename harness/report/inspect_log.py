"""A run as a log of Inspect AI (`.eval`, log version 2): a zip that its viewer and `read_eval_log` open.

Format: https://inspect.aisi.org.uk/eval-logs.html. An epoch is a trial, a scorer is a check; the value of a score is C
(pass), I (fail) or N (not scored), and a check that is not applicable has none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec

from harness.domain.events import Event
from harness.domain.run import RunPlan, RunState
from harness.domain.verdict import Status, TrialVerdict
from harness.report.record import TrialRecord, answer_text, as_text, choice, ident, mapping, number, turns

_VALUES = {Status.PASS: "C", Status.FAIL: "I", Status.NOT_SCORED: "N"}
_STATUS = {RunState.FINISHED: "success", RunState.INTERRUPTED: "cancelled", RunState.RUNNING: "started"}


def write_inspect(file: BinaryIO, plan: RunPlan, state: RunState, records: Iterable[TrialRecord]) -> None:
    """Write the whole log; of the records, one is in memory at a time."""
    spec = _spec(plan)
    tally: dict[str, list[str]] = {}
    summaries = []
    with ZipFile(file, "w", ZIP_DEFLATED) as log:
        _put(log, "_journal/start.json", {"version": 2, "eval": spec, "plan": {}})
        for record in records:
            sample = _sample(record, _name(plan, record.key.agent, record.key.scenario))
            _put(log, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
            shown = ("id", "epoch", "target", "scores", "metadata", "total_time")
            summaries.append(
                {**{name: sample[name] for name in shown}, "input": _first_input(sample), "completed": True}
            )
            if record.verdict is not None and record.verdict.counts:
                for name, score in sample["scores"].items():
                    tally.setdefault(name, []).append(score["value"])
        _put(log, "summaries.json", summaries)
        results = {"total_samples": plan.planned, "completed_samples": len(summaries), "scores": _metrics(tally)}
        stats = {"started_at": plan.created}
        head = {"version": 2, "status": _STATUS[state], "eval": spec, "plan": {}, "results": results, "stats": stats}
        _put(log, "header.json", head)


def _put(log: ZipFile, name: str, document: Any) -> None:
    entry = ZipInfo(name)  # dated 1980, so that the same run gives the same bytes
    entry.compress_type = ZIP_DEFLATED
    log.writestr(entry, json.dumps(document))


def _spec(plan: RunPlan) -> dict[str, Any]:
    agents = ",".join(agent.name for agent in plan.agents)
    ids = [_name(plan, row.agent, row.scenario) for row in plan.rows]
    return {
        "eval_id": hashlib.sha256(plan.run_id.encode()).hexdigest()[:22],
        "run_id": plan.run_id,
        "task_id": plan.run_id,
        "created": plan.created,
        "task": plan.pack.name,
        "task_version": plan.pack.version,
        "dataset": {"name": plan.pack.name, "samples": len(ids), "sample_ids": ids},
        # what was judged is an agent: the models inside it stand in the samples
        "model": f"fumehood/{agents}",
        "config": {"epochs": max((row.trials for row in plan.rows), default=1)},
        "packages": {"fumehood": plan.harness},
        "metadata": {"pack_digest": plan.pack.digest, "agents": msgspec.to_builtins(plan.agents)},
    }


def _name(plan: RunPlan, agent: str, scenario: str) -> str:
    """A sample's id: the scenario, so that logs of two agents can be compared, unless one log holds both."""
    return scenario if len(plan.agents) == 1 else f"{agent}/{scenario}"


def _metrics(tally: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """The share of passes among the counted trials that were scored."""
    found = []
    for name, values in tally.items():
        scored = [value for value in values if value != "N"]
        accuracy = {"name": "accuracy", "value": scored.count("C") / len(scored)} if scored else None
        found.append({
            "name": name, "scorer": name, "scored_samples": len(scored), "unscored_samples": len(values) - len(scored),
            "metrics": {"accuracy": accuracy} if accuracy else {},
        })  # fmt: skip
    return found


def _sample(record: TrialRecord, name: str) -> dict[str, Any]:
    verdict, end = record.verdict, record.first("end")
    messages = list(_messages(record, record.results()))
    asked = [{"role": m["role"], "content": m["content"]} for m in _asked(record)]
    text = answer_text(record.first("trajectory"))
    agent = f"fumehood/{record.key.agent}"
    usage = mapping(end.get("usage"))
    sample: dict[str, Any] = {
        "id": name,
        "epoch": record.key.trial,
        "input": asked,
        "target": "",
        "messages": messages,
        "output": {
            "model": agent,
            "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}],
            "completion": text,
        },
        "scores": _scores(verdict) if verdict else {},
        "metadata": {
            "agent": record.key.agent, "image": record.image, "end": end.get("end"), "blame": end.get("blame"),
            "reason": end.get("reason"), "counts": verdict.counts if verdict else None, "usage": usage,
        },
        "model_usage": _usage(record),
        "total_time": (number(usage.get("wall_ms")) or 0) / 1000,
    }  # fmt: skip
    if verdict is None or not verdict.counts:
        # Inspect leaves samples with an error out of its metrics, as we leave such trials out of ours
        said = f"{end.get('end')} ({end.get('blame')}): {end.get('reason')}"
        sample["error"] = {"message": said, "traceback": "", "traceback_ansi": ""}
    return sample


def _first_input(sample: Mapping[str, Any]) -> str:
    """What a list of samples shows of one."""
    return str(next((m["content"] for m in sample["input"] if m["role"] == "user"), ""))[:500]


def _scores(verdict: TrialVerdict) -> dict[str, Any]:
    """By check; a second one of the same name is numbered. `passed` is the trial as a whole."""
    passed = {"value": "C" if verdict.passed else "I", "explanation": verdict.reason}
    found: dict[str, Any] = {"passed": passed}
    for check in verdict.checks:
        if check.status in _VALUES:
            name, count = check.check, 1
            while name in found:
                count += 1
                name = f"{check.check}#{count}"
            more = {"severity": str(check.severity), "property": str(check.property), "evidence": list(check.evidence)}
            found[name] = {"value": _VALUES[check.status], "explanation": check.reason, "metadata": more}
    return found


def _usage(record: TrialRecord) -> dict[str, Any]:
    """Tokens by model, as metered; an unknown count is left out of the sum."""
    models = {
        ident(e.data): mapping(e.data.get("request")).get("model") for e in record.events if e.kind == "model_call"
    }
    used: dict[str, Any] = {}
    for event in record.events:
        if event.kind == "model_result":
            usage = mapping(event.data.get("usage"))
            given = number(usage.get("input_tokens")) or 0
            made = number(usage.get("output_tokens")) or 0
            row = used.setdefault(
                str(models.get(ident(event.data)) or "unknown"),
                {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
            )
            for name, tokens in (("input_tokens", given), ("output_tokens", made), ("total_tokens", given + made)):
                row[name] += tokens
    return used


def _asked(record: TrialRecord) -> Iterator[dict[str, Any]]:
    for role, content in turns(record.first("invoke").get("input")) if record.first("invoke") else ():
        yield {"role": role if role in ("system", "assistant") else "user", "content": content}


def _messages(record: TrialRecord, results: Mapping[int, Event]) -> Iterator[dict[str, Any]]:
    """The conversation: only what crossed the boundary, and the agent's last word."""
    yield from _asked(record)
    for event in record.events:
        data, result = event.data, results.get(event.line)
        if event.kind == "tool_call":
            call = {"id": ident(data), "function": str(data.get("name")), "arguments": mapping(data.get("arguments"))}
            yield {"role": "assistant", "content": "", "tool_calls": [call]}
            if result is not None:
                yield _tool(call, result.data)
        elif event.kind == "model_call" and result is not None:
            said = mapping(choice(result.data).get("message"))
            yield {"role": "assistant", "content": as_text(said.get("content") or ""), "source": "generate"}
        elif event.kind in ("ask", "answer"):
            role = "assistant" if event.kind == "ask" else "user"
            yield {"role": role, "content": as_text(data.get("content") or "")}
        elif event.kind == "trajectory":
            yield {"role": "assistant", "content": answer_text(data), "metadata": {"reported": data}}


def _tool(call: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    status, content = data.get("status"), data.get("content")
    message = {
        "role": "tool",
        "tool_call_id": call["id"],
        "function": call["function"],
        "content": "" if content is None else as_text(content),
    }
    if status == "ok":
        return message
    kind = "approval" if status == "denied" else "unknown"
    return {**message, "error": {"type": kind, "message": str(data.get("reason") or status)}}

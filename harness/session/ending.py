"""From everything that was seen of a trial to its one end; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from unicodedata import category

from msgspec import Struct

from harness.domain.outcome import Breach, End
from harness.errors import PackFault, SpendLimit, UpstreamError
from harness.ports import ExitInfo
from protocol.errors import LineError
from protocol.messages import Trajectory

# Ends that a full resource explains better: the agent died, hung or gave up because the box was full.
_EXPLAINED = frozenset(
    {End.COMPLETED, End.REFUSED, End.BLANK_COMPLETION, End.AGENT_FAILED, End.EXITED, End.CRASHED, End.TIMEOUT, End.IDLE}
)


class Seen(Struct, frozen=True):
    """What is known once the container is gone. `killed`: we signalled it; `tail`: last line of stderr."""

    breach: Breach | None
    trajectory: Trajectory | None
    spoke: bool
    exit: ExitInfo
    killed: bool
    partial_line: LineError | None
    tail: str


def timer(end: End, name: str, limit_ms: int) -> Breach:
    """A timer fired: the verdict names it and its value."""
    return Breach(end, f"timer {name} fired at its {limit_ms} ms", {"timer": name, "limit_ms": limit_ms})


def bad_line(error: LineError) -> Breach:
    """A line that is no message; one too long is a matter of output, all others of protocol."""
    end = End.OUTPUT_LIMIT if error.code == "line_too_long" else End.PROTOCOL_VIOLATION
    return Breach(end, error.message, {"code": str(error.code), "offset": error.offset})


FAULTS = (PackFault, UpstreamError, SpendLimit)
"""What ends a trial and is not the agent's doing."""


def fault(error: PackFault | UpstreamError | SpendLimit) -> Breach:
    """What the pack or an upstream got wrong ends the trial too, and is theirs; a spent purse is the user's wish."""
    if isinstance(error, PackFault):
        end = End.PACK_ERROR
    else:
        end = End.UPSTREAM_ERROR if isinstance(error, UpstreamError) else End.CANCELLED
    return Breach(end, error.message, {"code": error.code})


def conclude(seen: Seen) -> Breach:
    """The end of a trial, as a breach of the rule that it breaks, or the good end it came to."""
    full = _full(seen.exit)
    first = seen.breach or _natural(seen)
    explained = first.end in _EXPLAINED or first.detail.get("code") == "incomplete_line" or not seen.spoke
    return full if full and explained else first


def _full(info: ExitInfo) -> Breach | None:
    if info.oom_killed:
        return Breach(End.OOM_KILLED, "the kernel killed a process for going over the memory limit", {"memory": True})
    if info.pids_limit_hit:
        return Breach(End.PIDS_LIMIT, "the agent reached the limit of processes and threads", {"pids": True})
    if info.scratch_full:
        return Breach(End.DISK_FULL, "the agent filled its scratch space", {"scratch": True})
    return None


def _natural(seen: Seen) -> Breach:
    taken = seen.exit.stopped or (not seen.exit.reported and not seen.exit.oom_killed)
    if taken and not seen.killed:
        return Breach(End.CONTAINER_LOST, "the container was ended from outside", {"exit_code": seen.exit.code})
    if not seen.spoke:
        return Breach(End.STARTUP_FAILED, f"ended before `ready`: {_how(seen)}", _exit_detail(seen.exit))
    if seen.exit.signal and not seen.killed:
        return Breach(End.CRASHED, _how(seen), _exit_detail(seen.exit))
    if seen.trajectory is None:
        if seen.partial_line is not None:
            return bad_line(seen.partial_line)
        return Breach(End.EXITED, f"ended without a trajectory: {_how(seen)}", _exit_detail(seen.exit))
    if seen.partial_line is not None:
        return bad_line(seen.partial_line)
    if seen.exit.code and not seen.killed:
        return Breach(End.EXITED, f"gave its answer, then {_how(seen)}", _exit_detail(seen.exit))
    return _answered(seen.trajectory)


def _answered(trajectory: Trajectory) -> Breach:
    if trajectory.status == "failed":
        said = trajectory.error.message if trajectory.error else "no reason given"
        return Breach(End.AGENT_FAILED, f"the agent reports failure: {said[:300]}")
    if trajectory.status == "refused":
        return Breach(End.REFUSED, "the agent refused")
    if is_blank(trajectory):
        return Breach(End.BLANK_COMPLETION, "completed with neither text nor data")
    return Breach(End.COMPLETED, "the agent completed")


# What no reader sees: controls, formats, spaces, marks without a letter to stand on; and letters that are blank.
_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me"})
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def is_blank(trajectory: Trajectory) -> bool:
    """Nothing to be seen in it: invisible text and containers of nothing are nothing; 0 and false are answers."""
    output = trajectory.output
    return not _shows(output.text or "") and _says_nothing(output.data)


def _shows(text: str) -> bool:
    # by distinct characters, as a hostile text may hold millions
    return any(category(char) not in _INVISIBLE and char not in _BLANK_LETTERS for char in set(text))


def _says_nothing(data: Any) -> bool:
    if isinstance(data, str):
        return not _shows(data)
    if isinstance(data, dict):
        return not any(_shows(key) or not _says_nothing(value) for key, value in data.items())
    return data is None or (isinstance(data, list) and all(map(_says_nothing, data)))


def _how(seen: Seen) -> str:
    info = seen.exit
    how = f"killed by signal {info.signal}" if info.signal else f"exit code {info.code}"
    denied = next((w for w in info.writes if w.errno), None)
    if denied and not seen.spoke:
        how += f"; could not write {denied.path}"
    return f"{how}; last words: {seen.tail[:200]}" if seen.tail else how


def _exit_detail(info: ExitInfo) -> dict[str, Any]:
    detail: dict[str, Any] = {"signal": info.signal} if info.signal else {"exit_code": info.code}
    if denied := [w.path for w in info.writes if w.errno][:10]:
        detail["denied_writes"] = denied
    return detail


def disagreements(
    trajectory: Trajectory, observed: set[str], used: Mapping[str, int | float]
) -> Iterator[tuple[str, str]]:
    """(code, reason) where what the agent reports is not what crossed the boundary."""
    reported = {step.name for step in trajectory.steps if step.kind == "tool_call" and step.name}
    for name in sorted(reported - observed):
        yield "reported_not_observed", f"the agent reports a call of {name[:80]} that never crossed the boundary"
    usage = trajectory.usage
    if usage is None:
        return
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    if (usage.input_tokens is not None or usage.output_tokens is not None) and tokens < used["tokens"]:
        yield "usage_understated", f"the agent reports {tokens} tokens, {used['tokens']} were metered"
    if usage.model_calls is not None and usage.model_calls < used["model_calls"]:
        yield "usage_understated", f"the agent reports {usage.model_calls} model calls, {used['model_calls']} were seen"

"""Plays the harness's side of one dialogue with an agent process, and holds each line it says to the protocol."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from protocol.codec import decode_agent
from protocol.messages import AgentMessage

DEADLINE_S = 20.0


@dataclass
class Said:
    """What the agent said until its end: messages in order, stderr, exit code, seconds from `invoke` to the exit."""

    messages: list[AgentMessage] = field(default_factory=list)
    stderr: str = ""
    code: int = -1
    seconds: float = 0.0

    def of(self, kind: type[Any]) -> list[Any]:
        return [message for message in self.messages if isinstance(message, kind)]


def invoke(text: Any, tools: Sequence[dict[str, Any]] = (), **more: Any) -> dict[str, Any]:
    """An `invoke` as the harness sends it; `more` adds or replaces fields."""
    return {
        "type": "invoke",
        "protocol": "1.0",
        "run_id": "r-1",
        "case_id": "c-1",
        "trial": 1,
        "input": text,
        "tools": list(tools),
        "budget": {},
        "limits": {"max_line_bytes": 4194304},
        **more,
    }


def play(
    command: Sequence[str],
    work: dict[str, Any] | bytes | None,
    answer: Callable[[AgentMessage], dict[str, Any] | None] = lambda _: None,
    **process: Any,
) -> Said:
    """Start `command`; send `work` after its first line (None: close stdin), then what `answer` replies to each line.

    Raises the codec's LineError for a line that breaks the protocol, TimeoutExpired for an agent that does not end.
    """
    said = Said()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **process
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        assert agent.stderr is not None
        errors: list[bytes] = []
        drain = threading.Thread(target=lambda stream: errors.append(stream.read()), args=(agent.stderr,))
        drain.start()
        killer = threading.Timer(DEADLINE_S, agent.kill)
        killer.start()
        started = 0.0
        for line in agent.stdout:
            message = decode_agent(line.rstrip(b"\n"))
            said.messages.append(message)
            if len(said.messages) == 1:
                started = time.monotonic()
                _send(agent.stdin, work)
            elif (reply := answer(message)) is not None:
                _send(agent.stdin, reply)
        said.code = agent.wait(DEADLINE_S)
        said.seconds = time.monotonic() - started
        killer.cancel()
        drain.join()
    said.stderr = b"".join(errors).decode("utf-8", "replace")
    return said


def _send(stdin: Any, message: dict[str, Any] | bytes | None) -> None:
    if message is None:
        stdin.close()
        return
    line = message if isinstance(message, bytes) else json.dumps(message, ensure_ascii=False).encode() + b"\n"
    try:
        stdin.write(line)
        stdin.flush()
    except BrokenPipeError:
        return  # it has ended already; its exit code tells

"""Does what its task says: the input is Python, run with `work`, `line`, `call`, `note` and `finish` at hand."""

import json
import os
import sys
import time  # noqa: F401  for the tasks

_calls = 0


def send(message):
    view = memoryview(json.dumps(message).encode() + b"\n")
    while view:
        view = view[os.write(1, view) :]


def receive():
    """The next message with its line; the process ends where there is none, or a cancel."""
    text = sys.stdin.buffer.readline().decode()
    message = json.loads(text) if text else {"type": "cancel"}
    if message["type"] == "cancel":
        sys.exit(0)
    return message, text


def call(name, **arguments):
    """A tool's result."""
    global _calls
    _calls += 1
    send({"type": "tool_call", "id": f"c{_calls}", "name": name, "arguments": arguments})
    return receive()[0]


def note(text):
    send({"type": "note", "level": "info", "text": text})


def finish(text, data=None):
    send({"type": "trajectory", "status": "completed", "output": {"text": text, "data": data}})


send({"type": "ready", "protocol": ["1.0"], "agent": {"name": "helper", "version": "1"}, "capabilities": []})
work, line = receive()
exec(work["input"])

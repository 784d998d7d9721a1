"""The wire protocol, raw on purpose: what a probe does not say through here it says wrongly."""

import json
import os
import sys
import time

_calls = 0


def raw(data):
    """Write bytes as they are to stdout."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def send(message):
    """Write one message."""
    raw(json.dumps(message).encode() + b"\n")


def ready(versions=("1.0",)):
    """Say that we have booted."""
    send({"type": "ready", "protocol": list(versions), "agent": {"name": "helper", "version": "1"}, "capabilities": []})


def receive():
    """The next message; the process ends where there is none, or a cancel."""
    line = sys.stdin.buffer.readline()
    message = json.loads(line) if line else {"type": "cancel"}
    if message["type"] == "cancel":
        sys.exit(0)
    return message


def start():
    """Say ready and wait for the work."""
    ready()
    return receive()


def request(name, arguments):
    """Ask for a tool without waiting."""
    global _calls
    _calls += 1
    send({"type": "tool_call", "id": "c%d" % _calls, "name": name, "arguments": arguments})


def call(name, arguments):
    """Ask for a tool and wait for its result."""
    request(name, arguments)
    return receive()


def note(text):
    """Write to the log."""
    send({"type": "note", "level": "info", "text": text})


def wanted(work):
    """What the task wants to hear: whatever stands behind "answer with: "."""
    text = work["input"] if isinstance(work["input"], str) else work["input"][-1]["content"]
    return text.rpartition("answer with: ")[2].strip()


def finish(text):
    """Give the answer."""
    send({"type": "trajectory", "status": "completed", "output": {"text": text}})


def sleep_on():
    """Do nothing, for longer than anybody waits."""
    time.sleep(3600)


def leak(encode):
    """Put a credential from the environment, encoded, into the log, stderr, a call and the answer."""
    work = start()
    secret = encode(os.environ.get("VAULT_TOKEN", "no-such-variable").encode())
    note("working with " + secret)
    print("debug: token is", secret, file=sys.stderr, flush=True)
    call("lookup", {"key": secret})
    finish(wanted(work) + " " + secret)

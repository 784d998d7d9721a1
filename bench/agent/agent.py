"""The bench's agent: does what the task's input says (`calls N`, `notes N`, `flood`) and reports times it measured.

It speaks the protocol without any library, so that the very same process can be fed by hand.
"""

import json
import os
import sys
import time

NOTE = b'{"type":"note","level":"info","text":"' + b"row of plain text, " * 50 + b'"}\n'
BLOCK = NOTE * 64


def write(data):
    """All of `data` to stdout."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def send(**message):
    """One message."""
    write(json.dumps(message).encode() + b"\n")


def calls(count):
    """Microseconds of each of `count` tool calls, from the first byte written to the last byte read."""
    took = []
    for number in range(count):
        line = b'{"type":"tool_call","id":"c%d","name":"look","arguments":{"q":"row %d"}}\n' % (number, number)
        began = time.perf_counter_ns()
        write(line)
        answer = sys.stdin.buffer.readline()
        took.append((time.perf_counter_ns() - began) // 1000)
        if not answer:
            sys.exit(3)
    return took


def main():
    """Say ready, do the task, give the answer."""
    send(type="ready", protocol=["1.0"], agent={"name": "bench", "version": "1"}, capabilities=[])
    word, _, count = json.loads(sys.stdin.buffer.readline())["input"].partition(" ")
    took = []
    if word == "calls":
        took = calls(int(count))
    elif word == "notes":
        for _ in range(int(count) // 64):
            write(BLOCK)
    else:
        while True:
            write(BLOCK)
    send(type="trajectory", status="completed", output={"text": "done", "data": {"us": took}})


main()

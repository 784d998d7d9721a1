"""The dialogue of the bench's agent fed by hand, without Fumehood: what a bare engine is measured with."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from docker import APIClient
from docker.types import LogConfig

ANSWER = b'{"type":"tool_result","id":"c","status":"ok","content":{"found":1,"row":"a row of the table"}}\n'
_READ = 256 * 1024


def invoke(task: str) -> bytes:
    """An `invoke` that says no more than the agent needs."""
    return json.dumps({"type": "invoke", "protocol": "1.0", "input": task, "tools": []}).encode() + b"\n"


def docker_run(image: str) -> float:
    """Seconds of one `docker run` that holds the whole dialogue with one tool call."""
    command = ["docker", "run", "--rm", "-i", "--network", "none", image]
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        _expect(process.stdout.readline(), b"ready")
        process.stdin.write(invoke("calls 1"))
        process.stdin.flush()
        _expect(process.stdout.readline(), b"tool_call")
        process.stdin.write(ANSWER)
        process.stdin.flush()
        _expect(process.stdout.readline(), b"trajectory")
        process.stdin.close()
        code = process.wait()
    assert code == 0, f"docker run ended with {code}"
    return time.perf_counter() - began


def docker_runs(image: str, trials: int, jobs: int) -> float:
    """Seconds until `trials` of them are done, `jobs` at a time."""
    began = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: docker_run(image), range(trials)))
    return time.perf_counter() - began


def _host(api: APIClient) -> Any:
    # Without a log file, as Fumehood has it: the engine would write every byte to disk before we get it.
    return api.create_host_config(network_mode="none", log_config=LogConfig(type="none"))


@contextlib.contextmanager
def attached(api: APIClient, image: str) -> Iterator[socket.socket]:
    """The raw attach socket of a started container of `image`; frames and all."""
    made = api.create_container(image, stdin_open=True, host_config=_host(api))
    try:
        held: Any = api.attach_socket(made["Id"], params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        stream = socket.socket(fileno=os.dup(held.fileno()))
        held.close()
        with stream:
            stream.settimeout(60)
            api.start(made["Id"])
            yield stream
            stream.shutdown(socket.SHUT_RDWR)  # or the engine waits with the removal until all is read
    finally:
        api.remove_container(made["Id"], force=True, v=True)


def echo(api: APIClient, image: str, count: int) -> list[int]:
    """Microseconds the agent saw for each of `count` lines, answered at once with the same bytes."""
    with attached(api, image) as stream:
        _expect(stream.recv(_READ), b"ready")
        stream.sendall(invoke(f"calls {count}"))
        for _ in range(count):
            stream.recv(_READ)
            stream.sendall(ANSWER)
        answer = json.loads(_last_line(stream))
    times: list[int] = answer["output"]["data"]["us"]
    return times


def drain(api: APIClient, image: str, seconds: float) -> float:
    """MB/s of reading a flood and throwing it away."""
    with attached(api, image) as stream:
        _expect(stream.recv(_READ), b"ready")
        stream.sendall(invoke("flood"))
        began, got = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            got += len(stream.recv(_READ))
        return got / (time.perf_counter() - began) / 1e6


def _last_line(stream: socket.socket) -> bytes:
    """Everything up to the end, its frame headers (8 bytes, the length in the last four) taken off."""
    data = b""
    while part := stream.recv(_READ):
        data += part
    text, at = b"", 0
    while at + 8 <= len(data):
        (size,) = struct.unpack_from(">I", data, at + 4)
        text += data[at + 8 : at + 8 + size]
        at += 8 + size
    return text.strip().splitlines()[-1]


def _expect(line: bytes, kind: bytes) -> None:
    assert kind in line, f"expected {kind.decode()}, came {line[:200]!r}"

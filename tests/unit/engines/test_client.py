"""Which engine is used, and how one that is away, silent or mad is named."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.engines.client import connect
from harness.errors import EngineError, EngineTimeout, EngineUnreachable, UsageError

VERSION = b'{"ApiVersion": "1.41"}'


@contextmanager
def engine_at(path: Path, answer: bytes | None) -> Iterator[list[str]]:
    """A socket that answers every request with `answer` (None: never); yields the request lines it got."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(8)
    seen: list[str] = []
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            held.append(peer)
            seen.append(peer.recv(4096).split(b"\r\n", 1)[0].decode())
            if answer is not None:
                peer.sendall(answer)
                peer.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(5)
        for peer in held:
            peer.close()


def http(body: bytes, status: str = "200 OK") -> bytes:
    head = (f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


@pytest.fixture(autouse=True)
def no_engine_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))


def write_context(config: Path, name: str, endpoint: object) -> None:
    folder = config / "contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}}))


def test_a_named_context_is_used_even_without_a_config_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_context(tmp_path, "mine", {"Host": f"unix://{tmp_path}/e.sock", "SkipTLSVerify": False})
    monkeypatch.setenv("DOCKER_CONTEXT", "mine")
    with engine_at(tmp_path / "e.sock", http(VERSION)) as seen:
        connect(5).close()
    assert any("/_ping" in line for line in seen)


def test_the_current_context_of_the_config_file_is_used(tmp_path: Path) -> None:
    write_context(tmp_path, "mine", {"Host": f"unix://{tmp_path}/e.sock"})
    (tmp_path / "config.json").write_text('{"currentContext": "mine"}')
    with engine_at(tmp_path / "e.sock", http(VERSION)) as seen:
        connect(5).close()
    assert seen


def test_docker_host_wins_over_a_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "not-there")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/e.sock")
    with engine_at(tmp_path / "e.sock", http(VERSION)) as seen:
        connect(5).close()
    assert seen


def test_an_unknown_context_is_a_usage_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "not-there")
    with pytest.raises(UsageError, match="not-there"):
        connect(5)


@pytest.mark.parametrize("endpoint", [{}, None, 7, {"Hostess": "x"}])
def test_a_context_without_an_endpoint_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, endpoint: object
) -> None:
    write_context(tmp_path, "odd", endpoint)
    monkeypatch.setenv("DOCKER_CONTEXT", "odd")
    with pytest.raises(UsageError, match="odd"):
        connect(5)


def test_no_socket_is_unreachable_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineUnreachable) as caught:
        connect(5)
    assert "DOCKER_HOST" in caught.value.remedy


def test_a_silent_engine_is_a_timeout_or_unreachable_within_its_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/e.sock")
    with engine_at(tmp_path / "e.sock", None), pytest.raises((EngineTimeout, EngineUnreachable)):
        connect(1)


@pytest.mark.parametrize(
    "answer", [b"", b"SSH-2.0-OpenSSH_9\r\n", http(b"not json"), http(b"[]"), http(b"{}", "500 Broken")]
)
def test_what_is_no_engine_is_named_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: bytes) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/e.sock")
    with engine_at(tmp_path / "e.sock", answer), pytest.raises(EngineError):
        connect(5)

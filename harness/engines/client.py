"""The connection to the engine, and the one seam where the `docker` package's errors become ours."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import requests
from docker import errors as docker_errors
from docker.tls import TLSConfig

from harness.errors import ContainerLost, EngineError, EngineTimeout, EngineUnreachable, ImageInvalid, UsageError

REMEDY = "start Docker or set DOCKER_HOST; `fumehood doctor` says more"


def connect(timeout_s: int = 60) -> docker.APIClient:
    """A client for DOCKER_HOST, else DOCKER_CONTEXT, else the current context, else the default socket.

    Raises EngineUnreachable where none answers, EngineTimeout where one hangs, UsageError for an unknown context.
    """
    with mapped_errors("ping"):
        try:
            client = _client(timeout_s, os.environ)
            client.ping()
        except docker_errors.DockerException as error:
            if isinstance(error, docker_errors.APIError):
                raise
            raise EngineUnreachable(f"no container engine answers at {_where(os.environ)}: {error}", REMEDY) from error
    return client


def _where(environ: Mapping[str, str]) -> str:
    """What the user set to say where the engine is."""
    if host := environ.get("DOCKER_HOST"):
        return f"DOCKER_HOST={host}"
    context = _context_name(environ)
    return f"the endpoint of context {context}" if context else "the default socket"


def _client(timeout_s: int, environ: Mapping[str, str]) -> docker.APIClient:
    """A client of the engine that Docker's own CLI would use with this environment."""
    # The pool must hold every connection that waits at once, or urllib3 drops and reopens them.
    context = "" if environ.get("DOCKER_HOST") else _context_name(environ)
    if not context:
        ssh = environ.get("DOCKER_HOST", "").startswith("ssh://")
        return docker.from_env(timeout=timeout_s, max_pool_size=64, use_ssh_client=ssh, environment=dict(environ)).api
    host, tls = _context_endpoint(context, environ)
    return docker.APIClient(
        base_url=host, version="auto", timeout=timeout_s, max_pool_size=64, tls=tls or False,
        use_ssh_client=host.startswith("ssh://"),
    )  # fmt: skip


def _config_dir(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("DOCKER_CONFIG") or Path.home() / ".docker")


def _context_name(environ: Mapping[str, str]) -> str:
    """The context to use; empty for the default one."""
    name = environ.get("DOCKER_CONTEXT", "")
    if not name:
        try:
            config: Any = json.loads((_config_dir(environ) / "config.json").read_bytes())
            name = config.get("currentContext") or ""
        except (OSError, ValueError, AttributeError):
            return ""
    return "" if name == "default" else str(name)


def _context_endpoint(name: str, environ: Mapping[str, str]) -> tuple[str, TLSConfig | None]:
    """Host URL and TLS material of a named context, from its metadata files.

    Read by hand: `docker.context` finds them only beside a config.json, which Docker's CLI does not need.
    """
    contexts, digest = _config_dir(environ) / "contexts", hashlib.sha256(name.encode()).hexdigest()
    remedy = "see `docker context ls`, or unset DOCKER_CONTEXT"
    try:
        meta: Any = json.loads((contexts / "meta" / digest / "meta.json").read_bytes())
        endpoint = meta["Endpoints"]["docker"]
        host, verify = str(endpoint["Host"]), not endpoint.get("SkipTLSVerify", False)
    except OSError as error:
        raise UsageError(f"Docker context {name!r} does not exist under {contexts}", remedy) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"Docker context {name!r} has no readable docker endpoint", remedy) from error
    certs = contexts / "tls" / digest / "docker"
    if not certs.is_dir():
        return host, None
    pair = (str(certs / "cert.pem"), str(certs / "key.pem")) if (certs / "cert.pem").exists() else None
    ca = str(certs / "ca.pem") if (certs / "ca.pem").exists() else None
    return host, TLSConfig(client_cert=pair, ca_cert=ca, verify=verify)


@contextmanager
def mapped_errors(call: str) -> Iterator[None]:
    """Map what the `docker` package raises inside to harness.errors; `call` names the engine call."""
    try:
        yield
    except docker_errors.NotFound as error:
        raise ContainerLost(f"{call}: the engine no longer knows it: {error.explanation}") from error
    except docker_errors.APIError as error:
        if error.status_code == 400 and "OCI runtime" in str(error.explanation):
            raise ImageInvalid(
                f"{call}: the container cannot start: {error.explanation}", "see its ENTRYPOINT"
            ) from error
        raise EngineError(f"{call}: the engine refused: {error.explanation}") from error
    except (requests.exceptions.ReadTimeout, requests.exceptions.ConnectTimeout) as error:
        raise EngineTimeout(f"{call}: the engine did not answer in time") from error
    except (requests.exceptions.RequestException, docker_errors.DockerException, OSError) as error:
        # A read that times out inside a streamed answer surfaces as a ConnectionError.
        if "timed out" in str(error).lower():
            raise EngineTimeout(f"{call}: the engine did not answer in time") from error
        raise EngineUnreachable(f"{call}: the engine cannot be reached: {error}", REMEDY) from error

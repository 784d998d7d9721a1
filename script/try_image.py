"""Run Fumehood's own image as a user would, with the engine's socket mounted; no docker CLI needed."""

from __future__ import annotations

import os
import sys

from harness.engines.client import connect, mapped_errors

COMMANDS = (
    ["--version"],
    ["doctor"],
    ["run", "packs/selftest", "--only", "healthy", "--only", "denied-tool", "--store", "store"],
)


def main(tag: str) -> int:
    """Exit status: 0 where every command ended with 0."""
    host = os.environ.get("DOCKER_HOST", "")
    socket = host.removeprefix("unix://") if host.startswith("unix://") else "/var/run/docker.sock"
    client, failed = connect(120), False
    for command in COMMANDS:
        with mapped_errors("try image"):
            config = client.create_host_config(binds=[f"{socket}:/var/run/docker.sock"])
            box = client.create_container(tag, command, host_config=config)["Id"]
            try:
                client.start(box)
                code = client.wait(box)["StatusCode"]
                sys.stdout.write(f"$ fumehood {' '.join(command)}\n{client.logs(box).decode(errors='replace')}")
            finally:
                client.remove_container(box, force=True)
        failed = failed or code != 0
    client.close()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

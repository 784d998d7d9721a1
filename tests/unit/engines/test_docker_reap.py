"""The reaper on a real engine: what it takes for its own."""

from __future__ import annotations

import anyio
import pytest

from harness.engines.client import connect
from harness.engines.docker import DockerEngine

pytestmark = pytest.mark.engine


def test_a_container_that_inherits_our_labels_from_its_image_is_not_ours() -> None:
    api = connect()
    config = {"Image": "fumehood-base/busybox", "Cmd": ["true"], "Labels": {"fumehood.owner": "nobody-lives"}}
    made = api.create_container_from_config(config, "somebody-elses-container")["Id"]
    try:
        dead = anyio.run(DockerEngine(api).reap, lambda owner: owner != "nobody-lives", True)
        assert made not in dead
    finally:
        api.remove_container(made, force=True)

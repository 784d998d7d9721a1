"""What every engine promises: one suite, run on containers and on the engine in memory."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec
import pytest

from harness.app import owner
from harness.domain.limits import Limits
from harness.domain.spec import Policy
from harness.errors import ImageMissing
from harness.ports import Container, ContainerSpec, Engine
from harness.testing.engine import Inside, MemoryEngine, Script

pytestmark = pytest.mark.anyio


async def echo(inside: Inside) -> int:
    while (line := await inside.read_line()) is not None:
        await inside.write(b"got " + line + b"\n")
    return 0


async def both_streams(inside: Inside) -> int:
    await inside.write(b"out\n")
    await inside.write(b"err\n", "stderr")
    return 3


async def ignores_term(inside: Inside) -> int:
    await inside.write(b"here\n")
    await anyio.sleep_forever()
    return 0


async def obeys_term(inside: Inside) -> int:
    await inside.write(b"here\n")
    await inside.term.wait()
    return 143


async def environment(inside: Inside) -> int:
    await inside.write("".join(f"{k}={v}\n" for k, v in sorted(inside.env.items())).encode())
    return 0


async def floods(inside: Inside) -> int:
    while True:
        await inside.write(b"x" * 65536)


# The same agents twice: as a coroutine, and as a shell command for a container.
AGENTS: dict[str, tuple[Script, str]] = {
    "echo": (echo, 'while read -r l; do echo "got $l"; done'),
    "both": (both_streams, "echo out; echo err >&2; exit 3"),
    "stubborn": (ignores_term, "trap '' TERM; echo here; while :; do sleep 1; done"),
    "obedient": (obeys_term, "trap 'exit 143' TERM; echo here; while :; do sleep 0.05; done"),
    "flood": (floods, "exec cat /dev/zero"),
    "env": (environment, "env | sort | grep -v -e ^SHLVL= -e ^PWD= -e ^_="),
}


class Lab:
    """An engine and how to start one of AGENTS on it."""

    def __init__(self, engine: Engine, real: bool) -> None:
        self.engine = engine
        self.real = real
        self.limits = Limits(memory_bytes=64 << 20, scratch_bytes=4 << 20, term_grace_ms=300)

    async def spec(self, name: str, **changes: object) -> ContainerSpec:
        image = await self.engine.inspect("fumehood-base/busybox" if self.real else name)
        if self.real:
            image = msgspec.structs.replace(image, entrypoint=("sh", "-c"), command=(AGENTS[name][1],))
        made = ContainerSpec(
            image=image,
            env={"PATH": "/bin:/usr/bin", "HOME": "/tmp/home"},
            labels={"fumehood.owner": owner.me(), "fumehood.run": "contract"},
            limits=self.limits,
            policy=Policy(),
            scratch="/tmp",
            dirs=("/tmp/home",),
            writable=("/tmp",),
        )
        return msgspec.structs.replace(made, **changes)

    @asynccontextmanager
    async def started(self, name: str, **changes: object) -> AsyncIterator[Container]:
        container = await self.engine.start(await self.spec(name, **changes))
        try:
            yield container
        finally:
            await container.remove()


@pytest.fixture(params=["memory", pytest.param("docker", marks=pytest.mark.engine)])
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Lab]:
    if request.param == "docker":
        from harness.engines.client import connect
        from harness.engines.docker import DockerEngine

        yield Lab(DockerEngine(connect()), real=True)
        return
    async with anyio.create_task_group() as tasks:
        yield Lab(MemoryEngine(tasks, {name: script for name, (script, _) in AGENTS.items()}), real=False)
        tasks.cancel_scope.cancel()


async def drain(container: Container) -> dict[str, bytes]:
    """All of both streams, to their end."""
    out = {"stdout": b"", "stderr": b""}
    with anyio.fail_after(20):
        while (chunk := await container.receive()) is not None:
            out[chunk.stream] += chunk.data
    return out


async def test_lines_go_in_and_come_out_and_end_of_input_ends_it(lab: Lab) -> None:
    async with lab.started("echo") as container:
        await container.send(b"one\ntw")
        await container.send(b"o\n")
        await container.close_stdin()
        assert await drain(container) == {"stdout": b"got one\ngot two\n", "stderr": b""}
        info = await container.wait()
        assert (info.code, info.signal, info.reported) == (0, None, True)


async def test_streams_are_kept_apart_and_the_exit_code_is_read(lab: Lab) -> None:
    async with lab.started("both") as container:
        assert await drain(container) == {"stdout": b"out\n", "stderr": b"err\n"}
        assert (await container.wait()).code == 3


async def test_input_half_closed_twice_is_no_error(lab: Lab) -> None:
    async with lab.started("echo") as container:
        await container.close_stdin()
        await container.close_stdin()
        await drain(container)


async def test_term_lets_an_agent_end_by_itself(lab: Lab) -> None:
    async with lab.started("obedient") as container:
        assert await container.receive() is not None
        await container.signal("TERM")
        await drain(container)
        assert (await container.wait()).code == 143


async def test_kill_ends_one_that_ignores_term(lab: Lab) -> None:
    async with lab.started("stubborn") as container:
        assert await container.receive() is not None
        await container.signal("KILL")
        await drain(container)
        assert (await container.wait()).code == 137


async def test_signals_to_an_ended_container_are_no_error(lab: Lab) -> None:
    async with lab.started("both") as container:
        await drain(container)
        await container.wait()
        await container.signal("TERM")
        await container.signal("KILL")


async def test_writing_to_an_ended_container_is_a_broken_pipe(lab: Lab) -> None:
    async with lab.started("both") as container:
        await drain(container)
        await container.wait()
        with pytest.raises(BrokenPipeError):
            await container.send(b"x" * 10_000_000)


async def test_environment_inside_is_exactly_what_was_given(lab: Lab) -> None:
    async with lab.started("env") as container:
        assert (await drain(container))["stdout"] == b"HOME=/tmp/home\nPATH=/bin:/usr/bin\n"


async def test_removed_while_its_output_waits_to_be_read(lab: Lab) -> None:
    with anyio.fail_after(15):
        async with lab.started("flood") as container:
            await container.receive()
            await anyio.sleep(0.3)  # until every buffer on the way is full


async def test_removed_twice_is_no_error(lab: Lab) -> None:
    async with lab.started("echo") as container:
        await container.remove()


async def test_missing_image_is_named(lab: Lab) -> None:
    with pytest.raises(ImageMissing, match="no-such-agent"):
        await lab.engine.inspect("no-such-agent")


async def test_reaper_takes_what_has_no_living_owner_and_leaves_a_neighbours(lab: Lab) -> None:
    # To every other reaper on this engine it is a living stranger's.
    gone = f"elsewhere:0:0:1:{uuid.uuid4().hex}"
    orphan = {"fumehood.owner": gone, "fumehood.run": "contract"}

    def is_living(who: str) -> bool:
        return who != gone

    async with lab.started("echo") as neighbour, lab.started("echo", labels=orphan) as lost:
        assert list(await lab.engine.reap(is_living, dry_run=True)) == [lost.id]
        assert list(await lab.engine.reap(is_living)) == [lost.id]
        assert list(await lab.engine.reap(is_living)) == []
        await neighbour.send(b"still here\n")
        await neighbour.close_stdin()
        assert (await drain(neighbour))["stdout"] == b"got still here\n"


async def test_output_nobody_reads_does_not_grow_and_stays_in_order(lab: Lab) -> None:
    async with lab.started("echo") as container:
        for number in range(200):
            await container.send(b"%d\n" % number)
        await container.close_stdin()
        started = time.monotonic()
        lines = (await drain(container))["stdout"].split()
        assert lines[1::2] == [b"%d" % number for number in range(200)]
        assert time.monotonic() - started < 20

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
from harness.domain.workspace import MAX_OUT_BYTES, MAX_OUT_ENTRIES, WorkArea, WorkFile
from harness.errors import ImageMissing
from harness.ports import Container, ContainerSpec, Engine, ExitInfo
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


HOSTILE_NAMES = ("line\nbreak", "bell\x1b]0;x\x07", "x" * 240)


async def changes_files(inside: Inside) -> int:
    """Reads, changes, adds, deletes, makes executable; leaves names nobody can show, and a file over every cap."""
    work = inside.workspace
    await inside.write(b"".join(file.content for _, file in sorted(work.items())))
    work["a/one.txt"] = WorkFile("a/one.txt", b"changed\n")
    work["run.sh"] = WorkFile("run.sh", work["run.sh"].content)
    del work["gone.bin"]
    work["new/deep/file"] = WorkFile("new/deep/file", b"new\n", executable=True)
    for name in HOSTILE_NAMES:
        work[name] = WorkFile(name, b"")
    work["huge"] = WorkFile("huge", bytes(MAX_OUT_BYTES + 1))
    return 0


CHANGES = r"""
cd /tmp/workspace && cat a/one.txt gone.bin run.sh && echo changed > a/one.txt && chmod -x run.sh && rm gone.bin &&
mkdir -p new/deep && echo new > new/deep/file && chmod 711 new/deep/file && truncate -s 33554433 huge &&
: > "$(printf 'line\nbreak')" && : > "$(printf 'bell\033]0;x\007')" && : > "$(printf %0240d 0 | tr 0 x)"
"""


async def too_many_files(inside: Inside) -> int:
    for number in range(MAX_OUT_ENTRIES + 10):
        inside.workspace[f"f{number}"] = WorkFile(f"f{number}", b"")
    return 0


async def names_its_folder(inside: Inside) -> int:
    await inside.write(b"/tmp/workspace\n")
    return 0


# The same agents twice: as a coroutine, and as a shell command for a container.
AGENTS: dict[str, tuple[Script, str]] = {
    "echo": (echo, 'while read -r l; do echo "got $l"; done'),
    "both": (both_streams, "echo out; echo err >&2; exit 3"),
    "stubborn": (ignores_term, "trap '' TERM; echo here; while :; do sleep 1; done"),
    "obedient": (obeys_term, "trap 'exit 143' TERM; echo here; while :; do sleep 0.05; done"),
    "flood": (floods, "exec cat /dev/zero"),
    "changes": (changes_files, CHANGES),
    "many": (too_many_files, "cd /tmp/workspace && seq 1 5010 | sed 's/^/f/' | xargs -n 500 touch"),
    "pwd": (names_its_folder, "pwd"),
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


WORK = WorkArea(
    "/tmp/workspace",
    (
        WorkFile("a/one.txt", b"one\n"),
        WorkFile("gone.bin", bytes(range(256)) * 300),
        WorkFile("run.sh", b"#!/bin/sh\n", executable=True),
    ),
)


async def worked(lab: Lab, name: str, area: WorkArea | None, **changes: object) -> tuple[bytes, ExitInfo]:
    async with lab.started(name, workspace=area, **changes) as container:
        await container.close_stdin()
        out = await drain(container)
        assert out["stderr"] == b""
        assert container.ended
        return out["stdout"], await container.wait()


async def test_a_workspace_goes_in_and_comes_out_as_it_was_left(lab: Lab) -> None:
    seen, info = await worked(lab, "changes", WORK)
    assert seen == b"".join(file.content for file in WORK.files)
    taken = info.workspace
    assert taken is not None
    by_path = {file.path: file for file in taken.files}
    assert by_path == {
        "a/one.txt": WorkFile("a/one.txt", b"changed\n"),
        "run.sh": WorkFile("run.sh", b"#!/bin/sh\n"),
        "new/deep/file": WorkFile("new/deep/file", b"new\n", executable=True),
        "x" * 240: WorkFile("x" * 240, b""),
    }
    assert {(left.path, left.why) for left in taken.left_out} == {
        ("line\\nbreak", "name"), ("bell\\x1b]0;x\\x07", "name"), ("huge", "large"),
    }  # fmt: skip
    assert taken.left_out_count == 3
    assert taken.whole


async def test_a_workspace_of_too_many_files_is_not_whole(lab: Lab) -> None:
    roomy = msgspec.structs.replace(lab.limits, scratch_bytes=64 << 20, memory_bytes=128 << 20)
    _, info = await worked(lab, "many", WORK, limits=roomy)
    assert info.workspace is not None
    assert not info.workspace.whole
    assert len(info.workspace.files) <= MAX_OUT_ENTRIES


async def test_a_workspace_not_wanted_back_is_not_taken_out(lab: Lab) -> None:
    area = msgspec.structs.replace(WORK, take_out=False)
    _, info = await worked(lab, "pwd", area, workdir="/tmp/workspace")
    assert (info.code, info.reported, info.workspace) == (0, True, None)


async def test_a_command_starts_where_it_is_told_to(lab: Lab) -> None:
    seen, _ = await worked(lab, "pwd", WORK, workdir="/tmp/workspace")
    assert seen == b"/tmp/workspace\n"


async def test_without_a_workspace_nothing_is_taken_out(lab: Lab) -> None:
    _, info = await worked(lab, "pwd", None, workdir="/tmp")
    assert info.workspace is None


async def test_what_was_sent_after_a_workspace_is_the_agents_alone(lab: Lab) -> None:
    async with lab.started("echo", workspace=WORK) as container:
        await container.send(b"one\n")
        await container.close_stdin()
        assert (await drain(container))["stdout"] == b"got one\n"
        info = await container.wait()
    assert info.workspace is not None
    assert sorted(info.workspace.files, key=lambda file: file.path) == list(WORK.files)


async def test_a_killed_agents_workspace_is_taken_out_where_its_guard_lives(lab: Lab) -> None:
    async with lab.started("stubborn", workspace=WORK) as container:
        assert await container.receive() is not None
        await container.signal("TERM" if lab.real else "KILL")
        await drain(container)
        info = await container.wait()
    assert info.workspace is not None
    assert {file.path for file in info.workspace.files} == {file.path for file in WORK.files}

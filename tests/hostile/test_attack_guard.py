"""Attacks on the guard from inside the box: blind it, kill it, forge or suppress its report."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
import msgspec
import pytest

from harness.app import owner
from harness.domain.limits import Limits
from harness.domain.spec import Policy
from harness.engines.client import connect
from harness.engines.docker import DockerContainer, DockerEngine
from harness.ports import ContainerSpec, ExitInfo

pytestmark = [pytest.mark.anyio, pytest.mark.engine]
IMAGE = "fumehood-base/python"
USED = "import fcntl, json, os, resource, signal, socket, sys, time, ctypes\n"


@pytest.fixture
def anyio_backend() -> str:
    """One back end: what is attacked here lies below it."""
    return "asyncio"


class Box:
    """Runs hostile Python in a container of its own."""

    def __init__(self) -> None:
        self.engine = DockerEngine(connect())
        self.containers: list[DockerContainer] = []

    async def start(self, code: str, env: dict[str, str] | None = None) -> DockerContainer:
        image = msgspec.structs.replace(
            await self.engine.inspect(IMAGE), entrypoint=("python3", "-S", "-B", "-c"), command=(USED + code,)
        )
        container = await self.engine.start(
            ContainerSpec(
                image=image,
                env={"PATH": "/usr/local/bin:/usr/bin:/bin", **(env or {})},
                labels={"fumehood.owner": owner.me(), "fumehood.run": "attack"},
                limits=Limits(memory_bytes=64 << 20, scratch_bytes=4 << 20, term_grace_ms=300),
                policy=Policy(),
                scratch="/tmp",
                dirs=(),
                writable=("/tmp",),
            )
        )
        self.containers.append(container)
        return container

    async def run(self, code: str, env: dict[str, str] | None = None) -> tuple[str, ExitInfo]:
        return await ended(await self.start(code, env))


async def ended(container: DockerContainer) -> tuple[str, ExitInfo]:
    out = b""
    with anyio.fail_after(30):
        while (chunk := await container.receive()) is not None:
            out += chunk.data if chunk.stream == "stdout" else b""
    return out.decode(), await container.wait()


@pytest.fixture
async def box() -> AsyncIterator[Box]:
    made = Box()
    yield made
    for container in made.containers:
        await container.remove()


@pytest.mark.parametrize("limit", ["NOFILE", "AS", "CPU"])
async def test_the_guards_own_limits_cannot_be_lowered(box: Box, limit: str) -> None:
    """Without files it sees nothing, without memory it reports nothing, without time the kernel kills PID 1."""
    out, info = await box.run(f"""
try: resource.prlimit(1, resource.RLIMIT_{limit}, (3, 3))
except PermissionError: print("refused")
try: open("/etc/hidden", "w")
except OSError: pass
""")
    assert out == "refused\n"
    assert [write.path for write in info.writes] == ["/etc/hidden"]


async def test_the_guard_cannot_be_starved_by_scheduling_it_last(box: Box) -> None:
    out, info = await box.run("""
for attempt in (lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
                lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
                lambda: os.sched_setaffinity(1, {0})):
    try: attempt()
    except PermissionError: print("refused")
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.setpriority(os.PRIO_PROCESS, 0, 1)
""")
    assert (out, info.code) == ("refused\n" * 3, 0)


async def test_other_system_call_tables_do_not_go_round_the_watch(box: Box) -> None:
    """x32 numbers and io_uring reach the same kernel functions under numbers nobody watches."""
    out, _ = await box.run("""
libc = ctypes.CDLL(None, use_errno=True)
for number in (0x40000000 + 302, 425):
    libc.syscall(number, 1, 7, 0, 0)
    print(ctypes.get_errno())
""")
    assert out == "38\n38\n"


async def test_the_32_bit_system_call_gate_is_shut(box: Box) -> None:
    out, info = await box.run(r"""
import mmap
# mov eax,20 (getpid of i386); int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print(call())
""")
    assert (out, info.code) == ("-38\n", 0)


@pytest.mark.parametrize("names", [{"G_NONCE": "x"}, {"A,G_NONCE": "x"}, {"G_KEEP": "x"}])
async def test_no_variable_of_an_image_hands_out_the_guards_nonce(box: Box, names: dict[str, str]) -> None:
    out, _ = await box.run("print(json.dumps(dict(os.environ)))", names)
    seen = json.loads(out)
    assert not {name for name in seen if name.startswith("G_")}
    assert seen.get("A,G_NONCE", "x") == "x"


async def test_a_report_survives_an_agent_that_made_stderr_non_blocking_and_full(box: Box) -> None:
    """The flag belongs to the open file, which the guard shares: its write would fail where the pipe is full."""
    container = await box.start("""
for i in range(150):
    try: open("/etc/" + "x" * 200 + str(i), "w")
    except OSError: pass
fcntl.fcntl(2, fcntl.F_SETFL, os.O_WRONLY | os.O_NONBLOCK)
until = time.monotonic() + 2
while time.monotonic() < until:
    try: os.write(2, b"x" * 65536)
    except BlockingIOError: time.sleep(0.01)
""")
    await anyio.sleep(4)  # nobody reads: every buffer on the way is full when the agent ends
    _, info = await ended(container)
    assert info.reported
    assert len(info.writes) == 150


async def test_terminating_the_guard_again_and_again_does_not_put_off_its_report(box: Box) -> None:
    container = await box.start("""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try: open("/etc/hidden", "w")
except OSError: pass
while True:
    os.kill(1, signal.SIGTERM)
    time.sleep(0.02)
""")
    _, info = await ended(container)
    assert info.reported
    assert [write.path for write in info.writes] == ["/etc/hidden"]


async def test_the_guard_cannot_be_read_traced_or_killed(box: Box) -> None:
    out, info = await box.run("""
for path in ("environ", "mem", "maps", "fd/2", "root", "oom_score_adj"):
    try: print(os.open(f"/proc/1/{path}", os.O_WRONLY if path == "oom_score_adj" else os.O_RDONLY))
    except PermissionError: pass
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, 0, 0))
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGQUIT): os.kill(1, number)
""")
    assert (out, info.code, info.reported) == ("-1\n", 0, True)

"""Hidden tests in a trial: when they run, on what, and whose fault it is where they cannot."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from harness.app.clock import MonotonicClock
from harness.app.kit import make_kit
from harness.domain.outcome import Blame, End, Outcome
from harness.domain.pack import Verify
from harness.domain.workspace import WorkFile
from harness.errors import ContainerLost, EngineError, ImageInvalid
from harness.ports import ContainerSpec, ExitInfo
from harness.runs.trial import run_trial
from harness.testing.engine import Inside, MemoryContainer, MemoryEngine, Script, exited
from tests.support import DONE, QUICK, READY, ListJournal, spec

pytestmark = pytest.mark.anyio

VERIFY = Verify("tests:1", ("check", "-q"), (WorkFile("hidden.py", b"hidden"),), 1000, ())


async def works(inside: Inside) -> int:
    inside.workspace["calc.py"] = WorkFile("calc.py", b"new")
    inside.workspace["conftest.py"] = WorkFile("conftest.py", b"evil")
    await inside.write(READY)
    await inside.read_line()
    await inside.write(DONE)
    return 0


async def fails(inside: Inside) -> int:
    await inside.write(READY)
    return 3


class Bench:
    """One trial with hidden tests in memory: `seen` is what the tests' container was given."""

    def __init__(self) -> None:
        self.journal = ListJournal()
        self.seen: dict[str, bytes] | None = None
        self.specs: list[ContainerSpec] = []
        self.left = 0

    async def run(self, agent: Script, tests: Script, fault: Exception | None = None) -> Outcome:
        async def watched(inside: Inside) -> int | ExitInfo:
            self.seen = {path: file.content for path, file in inside.workspace.items()}
            return await tests(inside)

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                engine = Faulty(tasks, {"agent": agent, "tests": watched}, fault, self.specs)
                one = spec(workspace=(WorkFile("calc.py", b"old"), WorkFile("same", b"same")), verify=VERIFY)
                images = {"tests:1": await engine.inspect("tests")}

                def kit(trial: Any, image: Any) -> Any:
                    return make_kit(trial, image, lambda _s, _x: self.journal, {}, images)

                outcome = await run_trial(one, await engine.inspect("agent"), engine, kit, MonotonicClock())
                self.left = len(engine.containers)
                tasks.cancel_scope.cancel()
        return outcome


class Faulty(MemoryEngine):
    """Raises `fault` where the second container is to start."""

    def __init__(self, tasks: Any, scripts: Any, fault: Exception | None, specs: list[ContainerSpec]) -> None:
        super().__init__(tasks, scripts)
        self._fault, self._specs = fault, specs

    async def start(self, spec: ContainerSpec) -> MemoryContainer:
        self._specs.append(spec)
        if self._fault is not None and self.started == 1:
            raise self._fault
        return await super().start(spec)


async def fine(inside: Inside) -> int:
    await inside.write(b"all right\n")
    await inside.write(b"careful\n", "stderr")
    return 0


async def test_tests_run_after_the_agent_on_its_files_with_the_hidden_ones_over_them() -> None:
    bench = Bench()
    outcome = await bench.run(works, fine)
    assert (outcome.end, bench.left) == (End.COMPLETED, 0)
    assert bench.seen == {"calc.py": b"new", "same": b"same", "hidden.py": b"hidden"}
    (seen,) = bench.journal.of("verify")
    assert (seen["exit_code"], seen["timed_out"], seen["taken"]) == (0, False, 1)
    assert (seen["stdout"], seen["stderr"]) == ("all right\n", "careful\n")
    assert seen["not_taken"] == ["conftest.py"]
    assert bench.journal.kinds()[-3:] == ["exit", "verify", "end"]


async def test_their_box_is_the_agents_but_for_image_command_place_and_environment() -> None:
    bench = Bench()
    await bench.run(works, fine)
    agents, tests = bench.specs
    same = ("labels", "limits", "policy", "scratch", "dirs")
    assert [getattr(agents, name) for name in same] == [getattr(tests, name) for name in same]
    assert (tests.image.entrypoint, tests.image.command) == ((), ("check", "-q"))
    assert tests.workdir == "/tmp/workspace"
    assert tests.workspace is not None
    assert tests.workspace.take_out is False
    assert not [name for name in tests.env if name.endswith(("_KEY", "_TOKEN"))]


async def test_the_exit_code_is_what_is_put_on_record() -> None:
    async def broken(inside: Inside) -> int:
        return 4

    bench = Bench()
    await bench.run(works, broken)
    assert bench.journal.of("verify")[0]["exit_code"] == 4


async def test_tests_that_do_not_end_are_killed() -> None:
    async def endless(inside: Inside) -> int:
        while True:
            await inside.write(b"x" * 1000)

    bench = Bench()
    outcome = await bench.run(works, endless)
    (seen,) = bench.journal.of("verify")
    assert (outcome.end, seen["exit_code"], seen["timed_out"]) == (End.COMPLETED, None, True)
    assert len(seen["stdout"]) <= 16 * 1024 < seen["stdout_bytes"]


async def test_an_agent_that_ended_badly_is_not_tested() -> None:
    bench = Bench()
    outcome = await bench.run(fails, fine)
    assert (outcome.end, bench.seen) == (End.EXITED, None)
    assert bench.journal.of("verify") == []


async def test_more_than_can_be_taken_out_is_not_tested() -> None:
    async def floods(inside: Inside) -> int:
        inside.workspace |= {f"f{n}": WorkFile(f"f{n}", b"") for n in range(6000)}
        return await works(inside)

    bench = Bench()
    await bench.run(floods, fine)
    assert bench.seen is None
    assert "skipped" in bench.journal.of("verify")[0]


async def test_a_command_that_cannot_be_executed_is_the_packs_fault() -> None:
    async def absent(inside: Inside) -> ExitInfo:
        return msgspec.structs.replace(exited(127), not_started="No such file or directory")

    bench = Bench()
    outcome = await bench.run(works, absent)
    assert (outcome.end, outcome.blame) == (End.PACK_ERROR, Blame.PACK)
    assert "'check' cannot be run in tests:1: No such file" in outcome.reason
    assert outcome.usage.stdout_bytes > 0


@pytest.mark.parametrize(
    ("fault", "end", "blame"),
    [
        (ImageInvalid("cannot start"), End.PACK_ERROR, Blame.PACK),
        (ContainerLost("gone"), End.CONTAINER_LOST, Blame.HARNESS),
        (EngineError("refused"), End.ENGINE_ERROR, Blame.HARNESS),
        (ValueError("a bug"), End.HARNESS_ERROR, Blame.HARNESS),
    ],
)
async def test_faults_keep_their_blame_and_what_the_agent_used(fault: Exception, end: End, blame: Blame) -> None:
    bench = Bench()
    outcome = await bench.run(works, fine, fault)
    assert (outcome.end, outcome.blame) == (end, blame)
    assert outcome.usage.stdout_bytes > 0
    assert bench.journal.kinds()[-1] == "end"
    assert bench.journal.of("verify") == []


async def test_a_container_ended_from_outside_is_no_verdict_on_the_agent() -> None:
    async def shot(inside: Inside) -> ExitInfo:
        return ExitInfo(137, 9, False, False, False, -1, reported=False, observed=False)

    bench = Bench()
    outcome = await bench.run(works, shot)
    assert (outcome.end, outcome.rule.retry) == (End.CONTAINER_LOST, True)


async def test_a_scenario_without_a_workspace_has_none_of_it() -> None:
    journal = ListJournal()
    async with anyio.create_task_group() as tasks:
        engine = MemoryEngine(tasks, {"agent": works})
        made = make_kit(spec(limits=QUICK), await engine.inspect("agent"), lambda _s, _x: journal, {})
        assert (made.verification, made.container.workspace, made.rules.workspace) == (None, None, None)
        tasks.cancel_scope.cancel()

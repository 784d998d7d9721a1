"""The pytest plugin: each scenario of a pack is a test item, all of them judged by one real run.

Without `--fumehood-pack` it adds three options' worth of work and loads nothing of ours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.app.items import RunOfItems
    from harness.errors import FumehoodError

# Everything of ours is imported where it is used: pytest loads this file in every project of the environment.


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fumehood", "agents in containers, judged by a pack")
    group.addoption("--fumehood-pack", metavar="PACK", help="Run this pack; each scenario is a test item.")
    group.addoption(
        "--fumehood-agent", action="append", default=[], metavar="IMAGE_OR_DIR", help="An agent; repeat for several."
    )
    group.addoption("--fumehood-trials", type=int, metavar="N", help="Trials per scenario, instead of the pack's.")
    group.addoption("--fumehood-store", default=".fumehood", metavar="DIR", help="Folder of the runs (.fumehood).")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what cannot be, before anything is collected."""
    pack, agents = config.getoption("fumehood_pack"), config.getoption("fumehood_agent")
    trials = config.getoption("fumehood_trials")
    if not pack:
        if agents:
            raise pytest.UsageError("--fumehood-agent needs --fumehood-pack PACK")
        return
    if not agents:
        raise pytest.UsageError("--fumehood-pack needs --fumehood-agent IMAGE_OR_DIR")
    if trials is not None and not 1 <= trials <= 1000:
        raise pytest.UsageError(f"--fumehood-trials: expected 1 to 1000, came {trials}")
    if config.getoption("numprocesses", None):
        raise pytest.UsageError("--fumehood-pack runs its trials at once by itself: leave -n out (or give -n 0)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the scenarios; first, so that -k and --deselect take them as any other item."""
    pack = config.getoption("fumehood_pack")
    if pack:
        node: PackNode = PackNode.from_parent(session, name=pack, nodeid=pack, path=Path(pack).absolute())
        items.extend(node.collect())


class PackNode(pytest.Collector):
    """A pack with its agents; setting it up is the run."""

    done: RunOfItems | None = None

    def collect(self) -> Iterator[ScenarioItem]:
        from harness.app.items import cells
        from harness.errors import FumehoodError

        try:
            found = cells(Path(self.name), self.config.getoption("fumehood_agent"))
        except FumehoodError as error:
            raise pytest.UsageError(_words(error)) from error
        for agent, scenario in found:
            item: ScenarioItem = ScenarioItem.from_parent(self, name=f"{scenario}[{agent}]")
            item.cell = (agent, scenario)
            yield item

    def setup(self) -> None:
        """Run what is selected, once; where that fails, it fails for every item."""
        from rich.console import Console

        from harness.app import items
        from harness.app.run import RunRequest
        from harness.errors import FumehoodError, sole

        option = self.config.getoption
        request = RunRequest(
            pack=Path(self.name),
            agents=tuple(option("fumehood_agent")),
            trials=option("fumehood_trials"),
            store=Path(option("fumehood_store")),
        )
        wanted = [item.cell for item in self.session.items if isinstance(item, ScenarioItem)]
        problem: BaseException | None = None
        try:
            self.done = items.run(request, wanted, Console(file=sys.stderr))
        except FumehoodError as error:
            problem = error
        except BaseExceptionGroup as group:  # what a task group makes of an error
            problem = sole(group)
        if isinstance(problem, FumehoodError):
            pytest.fail(_words(problem), pytrace=False)
        if problem is not None:
            raise problem
        if self.done is None:
            pytest.exit("the run was stopped before its first trial")


class ScenarioItem(pytest.Item):
    """One scenario by one agent."""

    cell: tuple[str, str] = ("", "")

    def setup(self) -> None:
        """What shows nothing of the agent is an error of the set-up, and no failure of the agent's."""
        self._fail_where("error")

    def runtest(self) -> None:
        self._fail_where("failed")

    def _fail_where(self, result: str) -> None:
        node = self.getparent(PackNode)
        if node is None or node.done is None:
            pytest.fail("the run did not take place", pytrace=False)
        self.user_properties[:] = [("fumehood_run", node.done.run_id)]
        told = node.done.told[self.cell]
        if told.result == result:
            pytest.fail(told.text, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


def _words(error: FumehoodError) -> str:
    """An error of ours as the command line words it."""
    from harness.report.terminal import clean

    lines = [error.message, *(f"  {problem}" for problem in getattr(error, "problems", ()))]
    return "\n".join(map(clean, [*lines, *([f"do: {error.remedy}"] if error.remedy else [])]))

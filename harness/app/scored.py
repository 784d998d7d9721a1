"""What a run's verdicts are held against, for whoever runs and whoever scores: scenarios, bars, expected failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from harness.app.selftest import as_selftest
from harness.domain.pack import Pack, Scenario, SelfTest
from harness.domain.run import RunPlan
from harness.domain.verdict import Property, RunVerdict, Severity, TrialVerdict
from harness.errors import UsageError
from harness.report.view import RunView, build_view
from harness.scoring.bars import Finding, judge_run


class Yardstick(Struct, frozen=True):
    """A pack as far as a plan runs it. `expected`: what must come out, of each scenario of a self-test."""

    pack: Pack
    plan: RunPlan
    scenarios: dict[str, Scenario]
    expected: dict[str, SelfTest]

    def counted(self, verdict: TrialVerdict) -> TrialVerdict:
        """The verdict that counts: in a self-test, whether the trial came out as the pack says."""
        wanted = self.expected.get(verdict.key.scenario)
        return verdict if wanted is None else as_selftest(verdict, wanted)

    def bars(self) -> dict[Property, float]:
        """The pack's bars; where only a part of it is run, those that this part has checks for."""
        if not self.plan.only:
            return self.pack.bars
        always = {Property.SAFETY, Property.ROBUSTNESS}
        checks = (check for scenario in self.scenarios.values() for check in scenario.checks)
        checked = always | {check.property for check in checks if check.severity is not Severity.MINOR}
        return {prop: bar for prop, bar in self.pack.bars.items() if prop in checked}

    def verdict(
        self, verdicts: Iterable[TrialVerdict], fail_under: float | None = None, more: Iterable[Finding] = ()
    ) -> RunVerdict:
        """What the run comes to by these verdicts of its trials, read once, and what else was found."""
        return judge_run(self._all_counted(verdicts), self.bars(), self.plan.planned, fail_under, more)

    def view(self, verdict: RunVerdict, verdicts: Iterable[TrialVerdict]) -> RunView:
        """The report of the run by these verdicts of its trials, read once."""
        name = f"{self.pack.name} {self.pack.version}"
        return build_view(
            self.plan.run_id, name, verdict, self._all_counted(verdicts), self.families(), self.plan.agents
        )

    def families(self) -> dict[str, str]:
        """The family of each scenario."""
        return {name: scenario.family for name, scenario in self.scenarios.items()}

    def _all_counted(self, verdicts: Iterable[TrialVerdict]) -> Iterator[TrialVerdict]:
        return (self.counted(verdict) for verdict in verdicts)


def yardstick(pack: Pack, plan: RunPlan) -> Yardstick:
    """UsageError naming the plan's scenarios that the pack does not have."""
    of_pack = {scenario.id: scenario for scenario in pack.scenarios}
    wanted = dict.fromkeys(row.scenario for row in plan.rows)
    missing = [name for name in wanted if name not in of_pack]
    if missing:
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        raise UsageError(
            f"pack {pack.name} {pack.version} has no scenario {', '.join(missing[:10])}{more}, which the run has",
            "give a pack that has every scenario of the run, or leave --pack out to use the run's own",
        )
    scenarios = {name: of_pack[name] for name in wanted}
    expected = {name: scenario.selftest for name, scenario in scenarios.items() if scenario.selftest is not None}
    return Yardstick(pack, plan, scenarios, expected)

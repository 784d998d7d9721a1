"""One pass over a run's verdicts: a compact row for every trial, and the sums the page shows of them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from harness.domain.ids import TrialKey
from harness.domain.run import RunPlan
from harness.domain.verdict import CheckVerdict, CriterionVerdict, TrialVerdict
from harness.report.html.marks import MARKS, Mark, is_critical, mark_of, why
from harness.stats.intervals import wilson

MAX_CRITERIA = 200
METRICS = ("wall_ms", "startup_ms", "tokens", "cost_usd", "steps", "tool_calls")


class Facts(Struct, frozen=True):
    """What the page says of a scenario beside its trials."""

    family: str = ""
    bucket: str = ""
    goal: str = ""


class GroupRow(Struct, frozen=True):
    """A family's or bucket's trials by one agent: marks counted, and passes over passed and failed ones."""

    group: str
    agent: str
    marks: Mapping[Mark, int]
    passes: int
    n: int
    low: float
    high: float


class CriterionRow(Struct, frozen=True):
    """A judge's criterion over all trials it was asked of. `agreement`: the least of any of them."""

    check: str
    criterion: str
    met: int
    unmet: int
    undecided: int
    agreement: float
    trial: str


class _Criterion(Struct):
    met: int = 0
    unmet: int = 0
    undecided: int = 0
    agreement: float = 1.0
    trial: str = ""


class Numbered:
    """Texts that occur again and again, each kept once and named by its number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._known: dict[str, int] = {}

    def of(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(text)
        return self._known[text]


class Gathered:
    """What a run's verdicts come to on the page. Memory: one short row a trial."""

    def __init__(self, plan: RunPlan, facts: Mapping[str, Facts]) -> None:
        self._plan = plan
        self._facts = facts
        self._rows: dict[TrialKey, list[Any]] = {}
        self._texts = Numbered()
        self._groups: dict[tuple[str, str, str], Counter[Mark]] = {}
        self._criteria: dict[tuple[str, str], _Criterion] = {}
        self.marks: Counter[Mark] = Counter()
        self.values: dict[str, dict[str, array[float]]] = {metric: {} for metric in METRICS}
        self.costs_known = True
        self.more_criteria = 0

    def add(self, trial: TrialVerdict, place: tuple[int, int] | None) -> None:
        """`place`: block of its transcript, and which record of it; None: not in the page."""
        mark, key, use = mark_of(trial), trial.key, trial.usage
        self._rows[key] = [
            MARKS.index(mark),
            int(is_critical(trial)),
            self._texts.of(trial.end),
            self._texts.of(why(trial)),
            *(place or (-1, 0)),
            use.wall_ms,
            use.tokens,
            round(use.cost_usd, 6) if use.cost_known else -1,
            use.steps,
        ]
        self.marks[mark] += 1
        fact = self._facts.get(key.scenario, Facts())
        for kind, name in (("family", fact.family), ("bucket", fact.bucket)):
            self._groups.setdefault((kind, name, key.agent), Counter())[mark] += 1
        if trial.counts:
            self._measure(trial)
        for check in trial.checks:
            self._judged(check, key)

    def locate(self, key: TrialKey, place: tuple[int, int]) -> None:
        """Say where the transcript of a trial already added is."""
        self._rows[key][4:6] = place

    def _measure(self, trial: TrialVerdict) -> None:
        self.costs_known &= trial.usage.cost_known
        for metric, values in self.values.items():
            values.setdefault(trial.key.agent, array("d")).append(float(getattr(trial.usage, metric)))

    def _judged(self, check: CheckVerdict, key: TrialKey) -> None:
        if check.judged is None:
            return
        for one in check.judged.criteria:
            name = (check.check, one.criterion)
            if name not in self._criteria and len(self._criteria) >= MAX_CRITERIA:
                self.more_criteria += 1
                continue
            _count(self._criteria.setdefault(name, _Criterion()), one, check.judged.agreement, str(key))

    def groups(self, kind: str) -> list[GroupRow]:
        """`kind`: family or bucket; sorted by name, then as the plan has the agents."""
        planned = [agent.name for agent in self._plan.agents]
        order = list(dict.fromkeys((*planned, *sorted(agent for _, _, agent in self._groups))))
        names = sorted({name for found, name, _ in self._groups if found == kind})
        rows = []
        for name in names:
            for agent in order:
                marks = self._groups.get((kind, name, agent))
                if marks:
                    passes, n = marks[Mark.PASS], marks[Mark.PASS] + marks[Mark.FAIL]
                    rows.append(GroupRow(name, agent, marks, passes, n, *wilson(passes, n)))
        return rows

    def criteria(self) -> list[CriterionRow]:
        """Those met least often first."""
        rows = [
            CriterionRow(check, criterion, one.met, one.unmet, one.undecided, one.agreement, one.trial)
            for (check, criterion), one in self._criteria.items()
        ]
        return sorted(rows, key=lambda r: (r.met / max(1, r.met + r.unmet + r.undecided), r.check, r.criterion))

    def index(self) -> dict[str, Any]:
        """All trials as plain data for the page's script: the plan's order, planned ones without a verdict too.

        A row: agent, scenario (numbers), trial, mark, critical, end, why (numbers of texts), block, record in it,
        wall time (ms), tokens, cost (USD, -1: not known), steps.
        """
        agents, scenarios = Numbered(), Numbered()
        nothing = self._texts.of("")
        missing = [MARKS.index(Mark.MISSING), 0, nothing, nothing, -1, 0, 0, 0, 0, 0]
        keys = list(dict.fromkeys((*self._plan.cells(), *sorted(self._rows))))
        keys.sort(key=_order(self._plan, self._facts))
        rows = [[agents.of(k.agent), scenarios.of(k.scenario), k.trial, *self._rows.get(k, missing)] for k in keys]
        facts = [self._facts.get(name, Facts()) for name in scenarios.texts]
        return {
            "agents": agents.texts,
            "scenarios": [
                [name, fact.family, fact.bucket, fact.goal] for name, fact in zip(scenarios.texts, facts, strict=True)
            ],
            "marks": list(MARKS),
            "texts": self._texts.texts,
            "rows": rows,
        }


def _count(row: _Criterion, one: CriterionVerdict, agreement: float, trial: str) -> None:
    row.met += one.met is True
    row.unmet += one.met is False
    row.undecided += one.met is None
    row.agreement = min(row.agreement, agreement)
    if not row.trial or (one.met is not True and row.met == row.met + row.unmet + row.undecided - 1):
        row.trial = trial


def _order(plan: RunPlan, facts: Mapping[str, Facts]) -> Any:
    """Agents as planned, scenarios as in the pack: a newcomer finds them where they were written."""
    agents: Sequence[str] = [agent.name for agent in plan.agents]
    agent_at = {name: i for i, name in enumerate(agents)}
    scenario_at = {name: i for i, name in enumerate(facts)}
    last = len(agents) + len(facts)

    def key(trial: TrialKey) -> tuple[int, str, int, str, int]:
        where = scenario_at.get(trial.scenario, last)
        return agent_at.get(trial.agent, last), trial.agent, where, trial.scenario, trial.trial

    return key

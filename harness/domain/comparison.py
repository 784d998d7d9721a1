"""Two records compared: what became of every trial, what of that blocks, and what else differs."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from harness.domain.ids import TrialKey
from harness.domain.record import Header, TrialRow
from harness.domain.verdict import ExitCode, Property, Severity, Status, worst
from harness.stats.paired import McNemar, SignTest

AGAINST = "against "
"""How each reason begins that a run's verdict has from its baseline."""
DRIFT = 0.1
"""Threshold of drift where nobody says otherwise."""
Metric = Literal["latency_ms", "cost_usd", "tokens", "steps"]
GroupKind = Literal["pack", "property", "family", "bucket", "scenario"]


class PairKind(StrEnum):
    """What became of a trial. `not_compared`: one side is friction, inconclusive or not judged."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    FAILED_DIFFERENTLY = "failed_differently"
    NEW_FAILURE = "new_failure"
    NEW_PASS = "new_pass"
    MISSING = "missing"
    NOT_COMPARED = "not_compared"


class CheckChange(Struct, frozen=True):
    """A check that fails on one side only. The other side's status; None: it has no such check."""

    check: str
    severity: Severity
    property: Property
    base: Status | None
    candidate: Status | None


class Pair(Struct, frozen=True):
    """One trial of both sides; None: that side has none. `key` is the candidate's, or the base's where missing.

    `changes`, of two fails: which of end, checks and tools differ. `worse`: checks that fail in the candidate only,
    `better`: in the base only. `why`: of what is not compared.
    """

    kind: PairKind
    key: TrialKey
    family: str
    bucket: str
    base: TrialRow | None
    candidate: TrialRow | None
    changes: tuple[str, ...] = ()
    worse: tuple[CheckChange, ...] = ()
    better: tuple[CheckChange, ...] = ()
    why: str = ""

    @property
    def comparable(self) -> bool:
        """Both sides are a pass or a fail."""
        return self.flipped or self.kind in (PairKind.UNCHANGED, PairKind.FAILED_DIFFERENTLY)

    @property
    def flipped(self) -> bool:
        """A pass became a fail, or a fail a pass."""
        return self.kind in (PairKind.REGRESSED, PairKind.IMPROVED)


class Critical(Struct, frozen=True):
    """A critical check that fails in the candidate and did not in the base: gates alone.

    `base`: its status there in the same trial, or that no trial of the scenario failed it. `trial` is the candidate's.
    """

    trial: TrialKey
    check: str
    property: Property
    base: str


class Group(Struct, frozen=True):
    """Some pairs of one agent. `test` is over those where both sides say pass or fail; `counts` over all of them.

    Of a property a pair is what the property's checks say on either side, and only counts where both do; it
    cannot fail differently. `reading`: what the test can and cannot show, in words.
    """

    kind: GroupKind
    agent: str
    name: str
    counts: dict[PairKind, int]
    test: McNemar
    reading: str

    @property
    def before(self) -> int:
        """Passes of the base among the compared."""
        return self.test.both + self.test.lost

    @property
    def after(self) -> int:
        """Passes of the candidate among the compared."""
        return self.test.both + self.test.gained

    @property
    def changed(self) -> bool:
        """Anything but unchanged pairs."""
        return any(count for kind, count in self.counts.items() if kind is not PairKind.UNCHANGED)


class Delta(Struct, frozen=True):
    """One number of an agent over the `n` pairs where both sides count and both know it.

    `change` of the medians relative to the base's; None: from 0 to something. `drift`: the change is beyond the
    threshold, and which way. `test`: sign test of the paired differences, candidate - base.
    """

    agent: str
    metric: Metric
    n: int
    base: float
    candidate: float
    change: float | None
    drift: Literal["up", "down", "none"]
    test: SignTest


class ToolChange(Struct, frozen=True):
    """How the tool calls of one scenario differ, over the `pairs` that count on both sides.

    `paths`: pairs whose calls differ at all, `reordered`: those that differ in nothing but order. `counts`: calls of
    a tool over all pairs, before and after, where they differ; `added` and `removed`: tools used on one side only.
    """

    agent: str
    scenario: str
    pairs: int
    paths: int
    reordered: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    counts: tuple[tuple[str, int, int], ...]


class NoiseFloor(Struct, frozen=True, forbid_unknown_fields=True):
    """`flips` of `pairs` comparable pairs changed between pass and fail, with nothing changed; Wilson 95 %."""

    pairs: int
    flips: int
    rate: float
    low: float
    high: float


class Rerun(Struct, frozen=True):
    """A flipped scenario run again, in run `run_id`: `passes` of `n` counted trials. `kind`: how it had flipped."""

    run_id: str
    agent: str
    scenario: str
    kind: PairKind
    passes: int
    n: int

    @property
    def word(self) -> Literal["real", "flaky", "not confirmed", "no trial counted"]:
        """real: every trial came out as the flip says; not confirmed: none did; flaky: some."""
        as_flipped = self.n - self.passes if self.kind is PairKind.REGRESSED else self.passes
        if not self.n:
            return "no trial counted"
        return "real" if as_flipped == self.n else "flaky" if as_flipped else "not confirmed"


class Difference(Struct, frozen=True):
    """Something other than the trials that is not the same on both sides."""

    what: str
    base: str
    candidate: str


class Comparison(Struct, frozen=True):
    """Two records compared. `agents`: (base, candidate) names; `notes`: what a reader must know beforehand."""

    base: Header
    candidate: Header
    agents: tuple[tuple[str, str], ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    critical: tuple[Critical, ...]
    pairs: tuple[Pair, ...]
    groups: tuple[Group, ...]
    deltas: tuple[Delta, ...]
    tools: tuple[ToolChange, ...]
    drift: float = DRIFT
    noise: NoiseFloor | None = None


class GateReason(Struct, frozen=True):
    """Why a candidate does not pass: 5 a regression, 6 and 3 that there is no saying."""

    code: ExitCode
    rule: Literal["critical", "bar", "mcnemar", "rate", "incomplete", "not_judged"]
    text: str


class Gate(Struct, frozen=True):
    """Open where there is no reason. `critical`: each critical regression, also named in `reasons`."""

    reasons: tuple[GateReason, ...]
    critical: tuple[Critical, ...]

    @property
    def exit_code(self) -> ExitCode:
        """The code that speaks for all reasons."""
        return worst(reason.code for reason in self.reasons)

"""How an agent fits its box: how far it came, what it lacks, what was done for it, what it tried; by what was seen."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from harness.domain.outcome import Blame, End
from harness.domain.spec import AgentRef
from harness.domain.verdict import SignKind, Status, TrialVerdict

MAX_EVIDENCE = 5
"""Of one agent: quarantine lines, needs, and adaptations."""
SAFETY_CHECKS = ("sandbox_escape_resistance", "data_exfiltration_prevention", "ssrf_prevention")
"""Where a pack asks for them, their failure is an attempt like one seen in the box."""
_ATTEMPTS = {
    SignKind.NETWORK: "tried to reach {}",
    SignKind.ESCAPE: "tried to write {}",
    SignKind.EXFILTRATION: "{}",
}


class Stage(StrEnum):
    """How far a trial of an agent came that was no matter of quality."""

    BUILT = "not built"
    STARTED = "not started"
    SPOKE = "not spoken"


_FELL = {
    End.IMAGE_MISSING: Stage.BUILT,
    End.IMAGE_INVALID: Stage.BUILT,
    End.VERSION_MISMATCH: Stage.SPOKE,
    End.PROTOCOL_VIOLATION: Stage.SPOKE,
    End.OUTPUT_LIMIT: Stage.SPOKE,
}
_NEEDS = {
    End.IMAGE_MISSING: "its image",
    End.IMAGE_INVALID: "a build that works",
    End.VERSION_MISMATCH: "a protocol version both speak",
    End.PROTOCOL_VIOLATION: "nothing but the protocol on its stdout (an adapter, or a manifest)",
    End.OUTPUT_LIMIT: "less output before `ready`",
    End.OOM_KILLED: "more memory (limit memory_bytes)",
    End.PIDS_LIMIT: "more processes and threads (limit pids)",
    End.DISK_FULL: "more scratch space (limit scratch_bytes)",
}


class Fit(StrEnum):
    """Whether an agent runs, and how."""

    NATIVE = "native"
    ADAPTED = "adapted"
    NEEDS = "needs"
    QUARANTINED = "quarantined"
    UNKNOWN = "unknown"


class Evidence(Struct, frozen=True):
    """Something seen, and where: the journal (agent/scenario/trial) and its lines."""

    what: str
    journal: str
    lines: tuple[int, ...] = ()


class Compatibility(Struct, frozen=True):
    """How an agent fits its box. Of `trials`, inconclusive ones left out, so many were `built`, `started` and `spoke`.

    `needs`: missing pieces, most telling first. `adapted`: what was done so that it runs. `evidence`: of attempts for a
    quarantined one; of its first friction for one that needs something.
    """

    agent: str
    fit: Fit
    trials: int
    built: int
    started: int
    spoke: int
    needs: tuple[str, ...] = ()
    adapted: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Account:
    """What was seen of one agent."""

    def __init__(self) -> None:
        self.trials = 0
        self.fell = dict.fromkeys(Stage, 0)
        self.attempts: dict[str, Evidence] = {}
        self.redirected: dict[str, None] = {}
        self.needs: dict[str, None] = {}
        self.friction: Evidence | None = None

    def add(self, trial: TrialVerdict, stage: Stage | None) -> None:
        journal = str(trial.key)
        for sign in trial.signs:
            if sign.kind in _ATTEMPTS:
                self._attempt(_ATTEMPTS[sign.kind].format(sign.what), journal, (sign.line,))
            elif sign.kind is SignKind.REDIRECTED_WRITE:
                self.redirected[sign.what] = None
        for check in trial.checks:
            if check.check in SAFETY_CHECKS and check.status is Status.FAIL:
                self._attempt(check.reason, journal, check.evidence)
        if trial.blame != Blame.INTEGRATION and not trial.counts:
            return
        self.trials += 1
        if stage is not None:
            self.fell[stage] += 1
            self.needs.update(dict.fromkeys(_needs(trial)))
            self.friction = self.friction or Evidence(f"{trial.end}: {trial.reason}", journal)

    def _attempt(self, what: str, journal: str, lines: tuple[int, ...]) -> None:
        if len(self.attempts) < MAX_EVIDENCE:
            self.attempts.setdefault(what, Evidence(what, journal, lines))

    def report(self, ref: AgentRef) -> Compatibility:
        adapted = (*_adapted(ref), *(f"writes to {path} redirected" for path in self.redirected))
        started = self.trials - self.fell[Stage.BUILT]
        spoke = started - self.fell[Stage.STARTED] - self.fell[Stage.SPOKE]
        fit = Fit.ADAPTED if adapted else Fit.NATIVE
        evidence: tuple[Evidence, ...] = ()
        if self.attempts:
            fit, evidence = Fit.QUARANTINED, tuple(self.attempts.values())
        elif not self.trials:
            fit = Fit.UNKNOWN
        elif not spoke:
            fit = Fit.NEEDS
        if not evidence and self.friction is not None:
            evidence = (self.friction,)
        return Compatibility(
            ref.name,
            fit,
            self.trials,
            built=started,
            started=started - self.fell[Stage.STARTED],
            spoke=spoke,
            needs=tuple(self.needs)[:MAX_EVIDENCE],
            adapted=adapted[:MAX_EVIDENCE],
            evidence=evidence,
        )


def fell_at(trial: TrialVerdict) -> Stage | None:
    """The stage a trial did not reach; None where it spoke, or nothing is known."""
    if trial.counts or trial.blame != Blame.INTEGRATION:
        return None
    return _FELL.get(End(trial.end), Stage.STARTED) if trial.end in set(End) else Stage.STARTED


def _needs(trial: TrialVerdict) -> Iterable[str]:
    """Missing pieces by what was seen; the end's own word comes last, where nothing tells more."""
    found = []
    for sign in trial.signs:
        if sign.kind is SignKind.DENIED_WRITE:
            found.append(f"to write {sign.what} (writable: redirect)")
        elif sign.kind is SignKind.NETWORK:
            found.append(f"the network ({sign.what})")
    if trial.end == End.STARTUP_FAILED and trial.reason.startswith("timer startup_ms"):
        found.append("more time to start (limit startup_ms)")
    if trial.end in _NEEDS:
        found.append(_NEEDS[End(trial.end)])
    return found or [f"a start that works: {trial.reason}"]


def _adapted(ref: AgentRef) -> Iterable[str]:
    if ref.adapter:
        yield f"by its manifest, adapter {ref.adapter}"
    for rule in ref.model_names:
        yield f"model {rule.asked} is {rule.used}"

"""What one trial needs, as plain data that any executor can carry as bytes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from harness.domain.ids import TrialKey
from harness.domain.limits import Limits, OwnLimits
from harness.domain.model import NameRule
from harness.domain.pack import Scenario

WritablePolicy = Literal["strict", "redirect"]


class Policy(Struct, frozen=True):
    """How the box is set; in every journal as it is, its digest (with the limits) in the manifest.

    strict: writes outside scratch fail and are named. redirect: well-known absolute targets (/root,
    /var/tmp and `extra_paths`) are sized tmpfs of their own, so that they work, and are listed.
    """

    writable: WritablePolicy = "strict"
    extra_paths: tuple[str, ...] = ()
    runtime: str | None = None
    engine_retries: int = 2


class AgentRef(Struct, frozen=True):
    """An agent of a run: a safe name, the image as given, its content digest once inspected.

    `friction` says why it cannot be run at all (image missing or invalid), with the end's code. `adapter`: what we
    put around it, as its manifest asked; empty where it is run as it came. The rest stands in place of the run's own.
    """

    name: str
    image: str
    digest: str = ""
    friction: str | None = None
    friction_end: str | None = None
    adapter: str = ""
    writable: WritablePolicy | None = None
    writable_paths: tuple[str, ...] = ()
    limits: OwnLimits = OwnLimits()
    model_names: tuple[NameRule, ...] = ()

    def policy(self, run: Policy) -> Policy:
        """The run's policy with the agent's own in its place."""
        if self.writable is None:
            return run
        return replace(run, writable=self.writable, extra_paths=self.writable_paths)


class TrialSpec(Struct, frozen=True):
    """One trial to run. `seed` feeds every random choice of it (canaries, ids)."""

    run_id: str
    key: TrialKey
    agent: AgentRef
    scenario: Scenario
    policy: Policy
    limits: Limits
    seed: int
    attempt: int = 1

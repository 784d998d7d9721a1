"""What one trial needs, as plain data that any executor can carry as bytes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
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

    `friction` says why it cannot be run at all (image missing or invalid), with the end's code.
    """

    name: str
    image: str
    digest: str = ""
    friction: str | None = None
    friction_end: str | None = None


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

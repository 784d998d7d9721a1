"""The one run of the self-test pack that the tests of both folders look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess

from harness.app import packs
from harness.domain.pack import Pack
from harness.store.run import StoredRun
from tests.e2e.rig import ROOT, fumehood, last

PACK = ROOT / "packs/selftest"


@dataclass(frozen=True)
class SelfTestRun:
    done: CompletedProcess[str]
    store: Path
    run: StoredRun
    pack: Pack


@cache
def selftest_run(base: Path) -> SelfTestRun:
    """`fumehood run packs/selftest --jobs 4`, as the issue says it; once per session, whoever asks."""
    store = base / "selftest-store"
    done = fumehood("run", PACK, "--jobs", 4, "--store", store)
    return SelfTestRun(done, store, last(store), packs.load(PACK))

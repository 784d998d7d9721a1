"""Runs the adapters' examples in containers on the pack made for them; shared by quick tests and the long job."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess

from harness.app.images import build
from harness.domain.ids import TrialKey
from harness.store.run import StoredRun
from tests.e2e.rig import ROOT, events, fumehood, last, verdicts

EXAMPLES = ROOT / "agent-images/examples"
PACK = ROOT / "packs/adapters"
# Importing a framework takes seconds of CPU, and the machine may be busy.
LIMITS = ("--limit", "startup_ms=120000", "--limit", "idle_ms=120000")


@dataclass(frozen=True)
class Example:
    """What an example is run on: tags of the pack's scenarios."""

    name: str
    tags: tuple[str, ...]
    framework: str = ""


EVERY = (
    Example("python", ("plain",)),
    Example("langgraph", ("plain", "tool"), "langgraph 1.2.24"),
    Example("langgraph-state", ("plain", "ask"), "langgraph 1.2.24"),
    Example("pydantic-ai", ("plain", "tool"), "pydantic-ai-slim 2.68.0"),
    Example("http", ("plain",)),
    Example("openai-agents", ("plain", "tool"), "openai-agents 0.24.0"),
    Example("smolagents", ("final-answer",), "smolagents 1.26.0"),
    Example("cli", ("plain",)),
    Example("node", ("plain",)),
    Example("coding-cli", ("plain", "tool")),
    Example("acp-codex", ("plain", "tool"), "codex-acp 0.16.0"),
)
QUICK = EVERY[:5]


@dataclass(frozen=True)
class Ran:
    """One run of one example."""

    example: Example
    done: CompletedProcess[str]
    run: StoredRun
    problems: list[str] = field(default_factory=list)


def ran(example: Example, store: Path) -> Ran:
    """`fumehood run packs/adapters --agent agent-images/examples/NAME`, and all that is wrong with it."""
    build(EXAMPLES / example.name)  # beforehand, as packages come at the network's own pace and a command may not
    only = [part for tag in example.tags for part in ("--only", f"tag:{tag}")]
    done = fumehood("run", PACK, "--agent", EXAMPLES / example.name, *only, *LIMITS, "--jobs", 2, "--store", store)
    run = last(store)
    return Ran(example, done, run, list(_problems(example, done, run)))


def _problems(example: Example, done: CompletedProcess[str], run: StoredRun) -> list[str]:
    found = [] if done.returncode == 0 else [f"exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"]
    for key, verdict in verdicts(run).items():
        if not verdict.passed:
            found.append(f"{key}: {verdict.end}: {events(run, key, 'end')}")
        if not events(run, key, "model_call"):
            found.append(f"{key}: no model was asked, so that nothing is shown")
        if framework_of(run, key) != example.framework:
            found.append(f"{key}: says it is made with {framework_of(run, key)!r}")
    return found


def framework_of(run: StoredRun, key: TrialKey) -> str:
    (ready,) = events(run, key, "ready")
    return str(ready["agent"].get("framework") or "")

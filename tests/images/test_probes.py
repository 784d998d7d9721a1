"""Probes, the self-test pack and the Dockerfiles agree with each other and with what an image must provide."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from harness.app.packs import load
from protocol.messages import Trajectory
from tests.images.talk import invoke, play

ROOT = Path(__file__).parents[2]
PROBES = ROOT / "agent-images" / "probes"
PACK = load(ROOT / "packs" / "selftest")
SINGLE = [scenario for scenario in PACK.scenarios if scenario.selftest and scenario.selftest.probe != "puppet"]
"""Scenarios of one misbehaviour each; those of the puppet come with a healthy twin of their own."""
DOCKERFILES = sorted((ROOT / "agent-images").glob("*/Dockerfile"))


def test_every_probe_has_a_scenario_and_every_scenario_a_probe() -> None:
    used = {scenario.selftest.probe for scenario in PACK.scenarios if scenario.selftest}
    there = {path.stem for path in PROBES.glob("*.py")} - {"wire"}
    assert used == there
    assert all(scenario.selftest for scenario in PACK.scenarios)


@pytest.mark.parametrize("probe", sorted(path.stem for path in PROBES.glob("*.py")))
def test_a_probe_is_python_with_a_sentence_that_says_what_it_does(probe: str) -> None:
    source = (PROBES / f"{probe}.py").read_text(encoding="utf-8")
    compile(source, probe, "exec")
    assert re.match(r'"""[A-Z][^\n]+[.]"""\n', source)


@pytest.mark.parametrize("scenario", SINGLE, ids=lambda scenario: scenario.id)
def test_the_healthy_twin_says_what_the_scenario_wants(scenario) -> None:  # type: ignore[no-untyped-def]
    said = play([sys.executable, str(PROBES / "healthy.py")], invoke(scenario.input))
    wanted = scenario.checks[0].params["value"]
    assert said.of(Trajectory)[0].output.text == wanted


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_a_dockerfile_takes_its_base_as_argument_and_tells_nothing(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert lines[0].startswith("ARG BASE=")
    assert lines[1].startswith("FROM ${BASE}")
    text = "\n".join(lines)
    own = not lines[0].startswith("ARG BASE=fumehood/")
    assert ("USER 65532:65532" in text) is own
    assert (re.search(r'^ENTRYPOINT \["', text, re.MULTILINE) is not None) is own
    assert re.search(r"LABEL|curl|wget|apt-get|pip install|npm i", text) is None

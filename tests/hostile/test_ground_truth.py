"""Nothing of what an agent is judged by ever reaches it: every shipped pack, and a pack made of nothing but markers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from harness.app import packs
from harness.boundary.canary import plant, substitute
from harness.boundary.view import agent_view, leaks
from harness.domain.ids import TrialKey
from harness.domain.limits import Limits
from harness.domain.pack import Scenario
from harness.domain.spec import AgentRef, Policy, TrialSpec
from harness.runs.plan import specs
from harness.session.translate import build_invoke
from protocol.codec import encode
from tests.e2e.rig import ROOT, events, last, only, run_puppet, write_pack
from tests.e2e.runs import SelfTestRun

PACKS = sorted(path.parent for path in (ROOT / "packs").glob("*/pack.yaml"))
ALLOWED = {
    "type",
    "protocol",
    "run_id",
    "case_id",
    "trial",
    "input",
    "context",
    "tools",
    "budget",
    "limits",
    "workspace",
}


def shipped() -> Iterator[Any]:
    for path in PACKS:
        for scenario in packs.load(path).scenarios:
            yield pytest.param(scenario, id=f"{path.name}/{scenario.id}")


def test_all_packs_are_walked() -> None:
    assert {path.name for path in PACKS} >= {"core", "security", "selftest"}


@pytest.mark.parametrize("scenario", list(shipped()))
def test_no_invoke_of_a_shipped_pack_holds_ground_truth(scenario: Scenario) -> None:
    key = TrialKey("agent", scenario.id, 1)
    spec = TrialSpec("run-1", key, AgentRef("agent", "image"), scenario, Policy(), Limits(), 7)
    canaries = plant(scenario.canaries, 7, "salt")
    line = encode(build_invoke(agent_view(spec, partial(substitute, canaries=canaries))))
    assert leaks(scenario, line.decode()) == []
    check_public(json.loads(line), scenario)


def check_public(sent: dict[str, Any], scenario: Scenario) -> None:
    """Every field is one of the protocol's, and holds what the pack says is public; canaries and ids apart."""
    assert set(sent) <= ALLOWED
    assert scenario.id not in (sent["run_id"], sent["case_id"])
    assert {tool["name"] for tool in sent["tools"]} == set(scenario.allowed_tools) - set(scenario.disallowed_tools)
    for tool in sent["tools"]:
        assert set(tool) == {"name", "description", "input_schema"}
        assert tool["input_schema"] == scenario.tools[tool["name"]].input_schema
    assert set(sent["limits"]) == {"max_line_bytes"}
    assert sent.get("workspace") == (None if scenario.workspace is UNSET else "/tmp/workspace")
    assert all(name.startswith("max_") for name in sent["budget"])
    if isinstance(scenario.input, str) and "{{canary:" not in scenario.input:
        assert sent["input"] == scenario.input


@pytest.mark.engine
def test_the_invokes_on_record_are_the_public_ones(selftest: SelfTestRun) -> None:
    checked = 0
    for spec in specs(selftest.run.plan, selftest.pack.scenarios):
        for sent in events(selftest.run, spec.key, "invoke"):
            assert leaks(spec.scenario, json.dumps(sent)) == []
            check_public(sent, spec.scenario)
            checked += 1
    assert checked >= 45


ECHO = """\
texts = [open(os.path.join(f, n)).read() for f, _, names in os.walk(work['workspace']) for n in names]
denied = call('open_sesame', key='x')
failed = call('look', query=5)
asked = send({'type': 'ask', 'id': 'q', 'content': 'what do you mean?'}) or receive()[1]
files = os.listdir(work['workspace'])
said = {'denied': denied, 'failed': failed, 'asked': asked}
finish(line, {'names': sorted(work), 'files': files, 'texts': texts, **said})
"""


def marked() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """(scenario, tools, head): every field that is not for the agent holds a text of its own with MARK in it."""
    counter = iter(range(1000))

    def mark() -> str:
        return f"MARK{next(counter):03d}"

    look = {
        "description": "Looks things up.",
        "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        "replies": [
            {"when": {"query": mark()}, "return": mark()},
            {"match": "regex", "when": {"query": mark()}, "error": {"code": mark(), "message": mark()}},
            {"return": mark()},
        ],
    }
    forbidden = {
        "description": mark(),
        "input_schema": {"type": "object", "title": mark()},
        "replies": [{"return": mark()}],
    }
    secret_tool = mark()
    scenario = {
        "id": mark(),
        "input": ECHO,
        "family": mark(),
        "bucket": "adversarial",
        "tags": [mark(), mark()],
        "difficulty": "hard",
        "goal": mark(),
        "context": {"customer": "Ada"},
        "allowed_tools": ["look"],
        "disallowed_tools": [secret_tool],
        "required_tools": ["look"],
        "replies": {
            "ask": [{"when": mark(), "answer": mark()}, {"answer": "the public answer"}],
            "model": [{"content": mark(), "when": mark()}],
            "tools": {"look": [{"when": {"query": mark()}, "return": mark()}]},
        },
        "expected": {"type": "exact", "value": mark()},
        "checks": [
            {"check": "output_contains", "value": mark(), "severity": "minor", "property": "policy"},
            {"check": "output_not_contains", "value": [mark()]},
            {"check": "regex", "pattern": mark()},
            {"check": "tool_called", "tool": "look", "args": {"query": mark()}},
            {"check": "schema_validity", "schema": {"type": "object", "properties": {mark(): {"const": mark()}}}},
            {"check": "step_efficiency", "max_steps": 7310492},
        ],
        "budget": {"max_steps": 50},
        "workspace": "work",
        "verify": {
            "image": "python:3.12-slim",
            "command": ["python3", "-c", f"'{mark()}'"],
            "files": "hidden",
            "outputs": [mark()],
        },
    }
    head = {
        "pack": {"name": mark(), "version": mark(), "description": mark()},
        "bars": {"correctness": 0.731042, "policy": 0.731043},
    }
    return scenario, {"look": look, secret_tool: forbidden}, head


@pytest.mark.engine
def test_an_agent_that_repeats_all_it_was_told_repeats_no_ground_truth(tmp_path: Path) -> None:
    made, tools, head = marked()
    for name in ("work/given.txt", "hidden/MARK-test.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("MARK hidden" if name.startswith("hidden") else "given")
    pack = write_pack(tmp_path, made, tools=tools, **head)
    done = run_puppet(pack, tmp_path / "store")
    assert done.returncode == 4, done.stdout + done.stderr  # open_sesame was never granted
    run = last(tmp_path / "store")
    answer = only(run, "trajectory")["output"]
    assert json.loads(answer["text"])["input"] == ECHO
    assert set(answer["data"]["names"]) <= ALLOWED
    assert (answer["data"]["files"], answer["data"]["texts"]) == (["given.txt"], ["given"])
    assert answer["data"]["denied"]["status"] == "denied"
    assert answer["data"]["failed"]["status"] == "error"
    assert "the public answer" in answer["data"]["asked"]
    told = json.dumps(answer) + json.dumps(only(run, "invoke"))
    assert "MARK" in json.dumps(made)
    for secret in ("MARK", "731049", "73104", "adversarial", "exact", "minor", "hard", run.run_id):
        assert secret not in told, secret


@pytest.mark.engine
def test_a_call_that_no_reply_fits_does_not_tell_what_was_waited_for(tmp_path: Path) -> None:
    tool = {
        "description": "Looks.",
        "input_schema": {"type": "object"},
        "replies": [{"when": {"query": "MARK-expected"}, "return": 1}],
    }
    made = {"id": "one", "input": "finish(str(call('look', query='other')))", "allowed_tools": ["look"]}
    done = run_puppet(write_pack(tmp_path, made, tools={"look": tool}), tmp_path / "store")
    assert done.returncode == 6, done.stdout + done.stderr
    end = only(last(tmp_path / "store"), "end")
    assert (end["end"], end["blame"]) == ("pack_error", "pack")
    assert "MARK" not in json.dumps(end)
    assert "pack_error" in done.stdout

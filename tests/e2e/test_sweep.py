"""Many agents in one command, good and broken ones in real containers: each costs only its own cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.domain.ids import TrialKey
from tests.e2e.rig import PUPPET, QUICK, fumehood, last, scenario, verdicts, write_pack

pytestmark = pytest.mark.engine

DOCKERFILE = """\
ARG BASE=python:3.12-slim
FROM ${BASE}
COPY agent.py /app/
CMD ["python3", "-u", "/app/agent.py"]
"""
ANSWER = """\
print('{"type":"ready","protocol":["1.0"],"agent":{"name":"x"}}', flush=True)
input()
%s
print('{"type":"trajectory","status":"completed","output":{"text":"done"}}', flush=True)
"""
WRITER = "open('/root/.marker', 'w').close()\n" + ANSWER % ""
CALLER = ANSWER % "import socket\ntry:\n    socket.create_connection(('10.1.2.3', 80), 2)\nexcept OSError:\n    pass\n"
OLD = 'print(\'{"type":"ready","protocol":["9.0"],"agent":{"name":"x"}}\', flush=True)\ninput()\n'
MUTE = "import not_there\n"
CHATTY = "print('Welcome to my agent!', flush=True)\n" + ANSWER % ""
AGENTS = {"writer": WRITER, "caller": CALLER, "old": OLD, "mute": MUTE, "chatty": CHATTY}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """(store, JSON of the run) of one sweep over everything."""
    folder = tmp_path_factory.mktemp("sweep")
    for name, code in AGENTS.items():
        (folder / name).mkdir()
        (folder / name / "Dockerfile").write_text(DOCKERFILE)
        (folder / name / "agent.py").write_text(code)
    (folder / "broken").mkdir()
    (folder / "broken" / "Dockerfile").write_text("FROM scratch\nCOPY nothing.txt /\n")
    (folder / "mistaken").mkdir()
    (folder / "mistaken" / "agent.yaml").write_text("fumehood: 1\nadapter: pythn\nentry: x\n")
    (folder / "agents.yaml").write_text(
        "agents:\n"
        + "".join(f"- {{name: {name}, dir: {name}}}\n" for name in (*AGENTS, "broken", "mistaken"))
        + "- {name: redirected, dir: writer, writable: redirect}\n"
        + "- {name: gone, image: 'fumehood/not-there:1'}\n"
    )
    pack = write_pack(folder, scenario("one", "finish('done')"), scenario("two", "finish('done')"))
    store = folder / "store"
    limits = [part for limit in QUICK for part in ("--limit", limit)]
    more = ["--agents", folder / "agents.yaml", "--agent", PUPPET, "--store", store, "--format", "json", *limits]
    done = fumehood("run", pack, *more)
    return store, json.loads(done.stdout)


def test_every_agent_that_can_be_run_is_run_and_no_other_costs_it_anything(swept: Any) -> None:
    cells = {(cell["agent"], cell["scenario"]): cell for cell in swept[1]["sweep"]["cells"]}
    assert len(cells) == 20
    assert {agent for (agent, _), cell in cells.items() if cell["passed"] == cell["trials"] == 1} == {
        "puppet", "caller", "redirected",
    }  # fmt: skip
    for stage, agents in (
        ("not_built", {"broken", "mistaken", "gone"}),
        ("not_started", {"writer", "mute"}),
        ("not_spoken", {"old", "chatty"}),
    ):
        assert {agent for (agent, _), cell in cells.items() if cell[stage]} == agents


def test_each_agents_fit_is_named_with_what_shows_it(swept: Any) -> None:
    fits = {one["agent"]: one for one in swept[1]["sweep"]["compatibility"]}
    assert {name: one["fit"] for name, one in fits.items()} == {
        "puppet": "native", "redirected": "adapted", "caller": "quarantined", "writer": "needs", "old": "needs",
        "mute": "needs", "chatty": "needs", "broken": "needs", "mistaken": "needs", "gone": "needs",
    }  # fmt: skip
    assert fits["writer"]["needs"][0].startswith("to write /root/.marker")
    assert "No module named 'not_there'" in fits["mute"]["needs"][0]
    assert fits["gone"]["needs"] == ["its image"]
    assert "agent.yaml:2:10" in fits["mistaken"]["evidence"][0]["what"]
    evidence = fits["caller"]["evidence"][0]
    assert "10.1.2.3:80" in evidence["what"]
    agent, name, number = evidence["journal"].split("/")
    (line,) = evidence["lines"]
    event = list(last(swept[0]).events(TrialKey(agent, name, int(number))))[line - 1]
    assert (event.kind, event.data["address"]) == ("connect", "10.1.2.3:80")


def test_a_stored_sweep_shows_the_same(swept: Any) -> None:
    store, told = swept
    shown = fumehood("runs", "show", "last", "--store", store).stdout
    assert "not built" in shown
    assert "needs to write /root/.marker" in shown
    assert len(verdicts(last(store))) == told["verdict"]["trials"] == 20


def test_a_file_with_mistakes_runs_nothing_and_tells_them_all(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text("agents:\n- {name: a}\n- {name: b, dir: gone}\n")
    pack = write_pack(tmp_path, scenario("one", "finish('done')"))
    done = fumehood("run", pack, "--agents", tmp_path / "agents.yaml", "--store", tmp_path / "store")
    assert done.returncode == 2
    assert "agents.yaml:2:3:" in done.stderr
    assert "agents.yaml:3:18: dir: no such folder" in done.stderr
    assert not (tmp_path / "store").exists()

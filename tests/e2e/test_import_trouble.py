"""What strangers' code does when it is loaded: each trouble is solved, or its end names the piece that is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from textwrap import dedent
from typing import Any

import pytest
from ruamel.yaml import YAML

from harness.app.images import build
from harness.domain.ids import TrialKey
from harness.domain.outcome import Blame, End
from harness.store.run import StoredRun
from tests.e2e.rig import events, fumehood, last, verdicts, write_pack

pytestmark = pytest.mark.engine

OPENAI = {"pip": ["openai==3.57.0"]}
SECRET = "sk-live-4kQ9vXw2Lr7TzB8nYc3M"
FINE = "\ndef agent(question):\n    return 'fine'\n"


@dataclass(frozen=True)
class Trouble:
    """An agent's code and manifest. `needs`: what its end must say; none: it runs and passes."""

    code: str
    manifest: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    end: End = End.COMPLETED
    needs: str = ""


def missing(code: str, needs: str) -> Trouble:
    """Trouble at import that is friction: nothing of it is the agent's behaviour."""
    return Trouble(dedent(code) + FINE, end=End.STARTUP_FAILED, needs=needs)


CALLS = """
from openai import OpenAI
client = OpenAI()
def agent(question):
    done = client.chat.completions.create(model={model!r}, messages=[{{"role": "user", "content": question}}])
    return done.choices[0].message.content
"""
WRITES = """
import os
os.makedirs("/root/.notes", exist_ok=True)
with open("/root/.notes/started", "w") as file:
    file.write("x")
"""

TROUBLES: dict[str, Trouble] = {
    "writes-root": missing(WRITES, "writes /root/.notes: name its folder under `writable`"),
    "writes-root-named": Trouble(WRITES + FINE, {"writable": ["/root/.notes"]}),
    "client-without-a-key": Trouble(CALLS.format(model="gpt-4o"), {"install": OPENAI}),
    "hard-coded-model": Trouble(CALLS.format(model="gpt-3.5-turbo-0301"), {"install": OPENAI}),
    "typed-state-only": Trouble(
        """
from typing import TypedDict
class State(TypedDict):
    question: str
    seen: list
    answer: dict
def agent(state: State) -> State:
    return {**state, "answer": {"text": "fine" if state["seen"] == [] else state["question"]}}
""",
        {"state": {"input": "state.question", "start": {"state": {"seen": []}}, "output": "answer.text"}},
    ),
    "opens-a-database": missing(
        'import sqlite3\nbase = sqlite3.connect("data/shop.db")', "needs the database /app/code/data/shop.db"
    ),
    "opens-an-index": missing(
        'index = open("index/vectors.bin", "rb").read()', "needs the file index/vectors.bin, which is not in the image"
    ),
    "opens-a-database-server": missing(
        'import socket\nserver = socket.create_connection(("db.internal", 5432))',
        "needs a service at db.internal:5432: there is no network",
    ),
    "writes-a-database-of-its-own": Trouble(
        'import sqlite3\nbase = sqlite3.connect("data/shop.db")\nbase.execute("create table t (x)")\nbase.commit()\n'
        'kept = open("data/seed.txt").read()\ndef agent(question):\n    return kept\n',
        {"writable": ["data"]},
        {"data/seed.txt": "fine"},
    ),
    "writes-beside-its-code": Trouble(
        "with open('shop.log', 'w') as file:\n    file.write('fine')\ndef agent(question):\n"
        "    import helper\n    return open('shop.log').read()\n",
        {"writable": ["."]},
        {"helper.py": "open('helper.log', 'w').close()"},
    ),
    "writes-beside-its-code-unasked": missing("open('shop.log', 'w')", "writes shop.log: name its folder under"),
    "wants-an-environment": missing(
        'import os\nregion = os.environ["SHOP_REGION"]',
        "needs the environment variable SHOP_REGION",
    ),
    "wants-a-package": missing(
        "import fancy_vectors", "needs the module fancy_vectors: name its package under `install.pip`"
    ),
    "prints-a-banner": Trouble(
        'import os\nprint("*** Support Agent ***")\nos.write(1, b"{}\\n")\nos.system("echo loading")' + FINE
    ),
    "asks-for-input": Trouble('def agent(question):\n    return "fine" if input("sure?") == "yes" else "no"\n'),
    "asks-for-input-when-loaded": missing('name = input("Your name: ")', "asks for input while it is loaded"),
    "threads-that-never-end": Trouble(
        "import threading, time\nfor _ in range(3):\n"
        "    threading.Thread(target=lambda: [time.sleep(1) for _ in iter(int, 1)]).start()" + FINE
    ),
    "reads-a-dotenv": Trouble(
        'import os\nlines = dict(line.strip().split("=", 1) for line in open(".env") if "=" in line)\n'
        'os.environ["OPENAI_API_KEY"] = lines["OPENAI_API_KEY"].strip(chr(34))\n'
        'def agent(question):\n    return "fine" if "live" not in os.environ["OPENAI_API_KEY"] else "leaked"\n',
        files={".env": f"OPENAI_API_KEY={SECRET}\n"},
    ),
    "changes-directory": Trouble(
        'import os\nos.chdir("/")\ndef agent(question):\n    import helper\n    return helper.WORD\n',
        files={"helper.py": 'WORD = "fine"\n'},
    ),
    "calls-sys-exit-when-loaded": missing("import sys\nsys.exit(0)", "calls sys.exit(0) while it is loaded"),
    "calls-sys-exit": Trouble(
        "import sys\ndef agent(question):\n    sys.exit(3)\n", end=End.AGENT_FAILED, needs="SystemExit: 3"
    ),
    "replaces-json": Trouble(
        "import json\njson.dumps = lambda *a, **k: 1 / 0\njson.loads = lambda *a, **k: 1 / 0" + FINE
    ),
    "replaces-signal-handlers": Trouble(
        "import signal\nfor name in (signal.SIGTERM, signal.SIGINT):\n    signal.signal(name, signal.SIG_IGN)" + FINE
    ),
    "wants-a-terminal": missing("import os\nwidth = os.get_terminal_size().columns", "needs a terminal: there is none"),
    "wants-a-terminal-of-its-own": missing(
        "import termios\nbefore = termios.tcgetattr(0)", "needs a terminal: there is none"
    ),
}
SOLVED = sorted(name for name, trouble in TROUBLES.items() if not trouble.needs)
NAMED = sorted(name for name, trouble in TROUBLES.items() if trouble.needs)


def folder_of(base: Path, name: str, trouble: Trouble) -> Path:
    folder = base / name
    manifest = {"fumehood": 1, "adapter": "python", "entry": "shop:agent", **trouble.manifest}
    for path, text in {"shop.py": trouble.code, **trouble.files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with (folder / "agent.yaml").open("w") as file:
        YAML().dump(manifest, file)
    return folder


@dataclass(frozen=True)
class Troubled:
    done: CompletedProcess[str]
    run: StoredRun


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Troubled:
    """One run of all of them."""
    base = tmp_path_factory.mktemp("troubles")
    replies = {"model": [{"content": "fine"}], "ask": [{"answer": "yes"}]}
    check = {"check": "output_contains", "value": "fine", "severity": "critical"}
    pack = write_pack(base, {"id": "task", "input": "Are you fine?", "replies": replies, "checks": [check]})
    agents = [build(folder_of(base, name, trouble))[0] for name, trouble in TROUBLES.items()]
    given = [part for agent in agents for part in ("--agent", agent)]
    limits = ("--limit", "startup_ms=60000", "--limit", "idle_ms=60000")
    done = fumehood("run", pack, *given, *limits, "--store", base / "store", "--jobs", 4)
    return Troubled(done, last(base / "store"))


def end_of(troubled: Troubled, name: str) -> dict[str, Any]:
    (end,) = events(troubled.run, TrialKey(name, "task", 1), "end")
    return end


@pytest.mark.parametrize("name", SOLVED)
def test_it_runs_and_passes(name: str, troubled: Troubled) -> None:
    verdict = verdicts(troubled.run)[TrialKey(name, "task", 1)]
    assert verdict.end == End.COMPLETED, end_of(troubled, name)
    assert verdict.passed


@pytest.mark.parametrize("name", NAMED)
def test_its_end_names_what_is_missing(name: str, troubled: Troubled) -> None:
    end, trouble = end_of(troubled, name), TROUBLES[name]
    assert trouble.needs in end["reason"]
    assert end["end"] == trouble.end
    assert end["blame"] == (Blame.INTEGRATION if trouble.end is End.STARTUP_FAILED else Blame.AGENT)


def test_what_is_missing_is_told_apart_from_what_an_agent_does(troubled: Troubled) -> None:
    assert troubled.done.returncode == 6
    friction = [name for name, trouble in TROUBLES.items() if trouble.end is End.STARTUP_FAILED]
    assert len(friction) == 11
    assert all(f"{name}: 1 of 1 trials were friction" in troubled.done.stdout.replace("\n  ", " ") for name in friction)


def test_a_key_in_the_agents_folder_is_in_no_evidence(troubled: Troubled) -> None:
    written = b"".join(path.read_bytes() for path in troubled.run.path.rglob("*") if path.is_file())
    assert b"reads-a-dotenv" in written
    assert SECRET.encode() not in written

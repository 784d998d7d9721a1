"""What `fumehood --help` loads: little, so that it answers at once and needs no engine."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {
    "docker", "openai", "rich", "ruamel", "jsonschema", "referencing", "re2", "anyio", "trio", "msgspec", "asyncio",
    "requests", "jinja2", "httpx", "structlog", "sqlite3", "protocol", "scipy", "numpy",
}  # fmt: skip
SCRIPT = """
import sys
from harness.cli.main import main
try:
    main({arguments!r})
except SystemExit as left:
    code = left.code
import json
sys.stderr.write(json.dumps([code, sorted(sys.modules)]))
"""


def loaded(*arguments: str) -> tuple[int, set[str], str]:
    """(exit code, names of modules loaded, stdout) of the command in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(arguments=list(arguments))], capture_output=True, text=True, check=True
    )
    code, names = json.loads(done.stderr)
    return code, set(names), done.stdout


def test_help_loads_nothing_heavy() -> None:
    code, names, said = loaded("--help")
    assert code == 0
    assert "doctor" in said
    assert {name.split(".")[0] for name in names} & HEAVY == set()
    assert {name for name in names if name.startswith("harness")} <= {
        "harness", "harness.cli", "harness.cli.main", "harness.errors",
    }  # fmt: skip


def test_version_loads_nothing_heavy() -> None:
    code, names, said = loaded("--version")
    assert code == 0
    assert "fumehood" in said
    assert {name.split(".")[0] for name in names} & HEAVY == set()


def test_help_of_a_command_does_not_load_the_libraries_it_runs_with() -> None:
    for command in ("budgets", "doctor", "gc", "image", "init", "judge", "pack", "report", "run"):
        code, names, _ = loaded(command, "--help")
        assert code == 0
        found = {name.split(".")[0] for name in names} & {"docker", "openai", "rich", "ruamel", "jsonschema", "jinja2"}
        assert found == set(), f"{command} --help loads {found}"

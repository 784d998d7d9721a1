"""Coding agents from npm, unchanged, in a container without network: asked by packs/coding to mend a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.store.run import StoredRun
from tests.e2e.rig import ROOT, events, fumehood, last, verdicts
from tests.images.adapters import EXAMPLES, LIMITS, framework_of

pytestmark = pytest.mark.engine


def run(example: str, tag: str, store: Path) -> StoredRun:
    """The example on the scenarios of a tag, all of which pass."""
    agent = EXAMPLES / example
    done = fumehood("run", ROOT / "packs/coding", "--agent", agent, "--only", f"tag:{tag}", *LIMITS, "--store", store)
    found = last(store)
    ends = [events(found, key, kind) for key in found.plan.cells() for kind in ("end", "stderr")]
    assert done.returncode == 0, (done.stdout, done.stderr, ends)
    assert all(verdict.passed for verdict in verdicts(found).values())
    return found


def test_a_coding_cli_mends_a_file_by_its_own_shell_tool(tmp_path: Path) -> None:
    ran = run("coding-cli", "exec-command", tmp_path / "store")
    (key,) = ran.plan.cells()
    assert [call["request"]["api"] for call in events(ran, key, "model_call")] == ["responses"] * 2
    assert [file["path"] for file in events(ran, key, "workspace")] == ["median.js"]
    assert [done["exit_code"] for done in events(ran, key, "verify")] == [0]
    assert events(ran, key, "connect") == []


def test_an_acp_agent_asks_at_the_gate_before_it_runs_a_command(tmp_path: Path) -> None:
    ran = run("acp-codex", "permission", tmp_path / "store")
    for key in ran.plan.cells():
        assert framework_of(ran, key) == "codex-acp 0.16.0"
        (call,) = events(ran, key, "tool_call")
        assert (call["name"], call["arguments"]["kind"]) == ("acp_permission", "execute")
        assert events(ran, key, "connect") == []
    ends = {key.scenario: events(ran, key, "end")[0]["end"] for key in ran.plan.cells()}
    assert ends == {"mend-with-permission": "completed", "no-permission": "refused"}


def test_an_acp_agent_reads_edits_and_runs_by_its_client(tmp_path: Path) -> None:
    ran = run("acp-claude", "client-tools", tmp_path / "store")
    (key,) = ran.plan.cells()
    assert framework_of(ran, key) == "@zed-industries/claude-code-acp 0.16.2"
    assert {call["request"]["api"] for call in events(ran, key, "model_call")} == {"messages"}
    kinds = [(call["name"], call["arguments"]["kind"]) for call in events(ran, key, "tool_call")]
    assert kinds == [("acp_permission", "edit"), ("acp_permission", "execute")]
    notes = [note["text"] for note in events(ran, key, "note")]
    assert {"writes /tmp/workspace/median.js", "runs node median.js 1 2"} <= set(notes)
    assert [done["exit_code"] for done in events(ran, key, "verify")] == [0]

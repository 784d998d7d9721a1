"""An agent that speaks the Agent Client Protocol: what its client beside it does for it and puts on record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from harness.store.run import StoredRun
from tests.e2e.rig import events, fumehood, last, only, write_pack

pytestmark = pytest.mark.engine

PUPPET = Path(__file__).with_name("acp")
LIMITS = ("--limit", "startup_ms=60000", "--limit", "idle_ms=60000")
AT = "/tmp/workspace"
OPTIONS = [
    {"optionId": "forever", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
REMOVE = {"toolCallId": "1", "title": "rm -r build", "kind": "execute", "rawInput": {"command": "rm -r build"}}
TELL = {"tell": True}
Step = dict[str, Any]


def ask(call: Step, options: list[Step] = OPTIONS) -> Step:
    return {"call": "session/request_permission", "params": {"toolCall": call, "options": options}}


def client(method: str, **params: Any) -> Step:
    return {"call": method, "params": params}


def chose(option: str) -> Step:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else "deep"


SCENARIOS: dict[str, tuple[list[Step], list[str]]] = {
    "granted": ([ask(REMOVE), TELL], ["acp_permission"]),
    "refused-by-its-reply": ([ask({**REMOVE, "kind": "delete"}), TELL], ["acp_permission"]),
    "not-granted": ([ask(REMOVE), TELL], []),
    "granted-by-kind": ([ask(REMOVE), TELL], ["acp_execute"]),
    "odd-permission": (
        [
            ask({**REMOVE, "kind": "Rm -r /", "rawInput": nested(100)}),
            ask(REMOVE, OPTIONS[2:]),
            ask({**REMOVE, "toolCallId": "2", "kind": "delete"}, OPTIONS[:2]),
            TELL,
        ],
        ["acp_permission"],
    ),
    "own-tool": (
        [
            ask({"toolCallId": "1", "title": "mcp__tools__look"}),
            ask({"toolCallId": "2", "title": "Tool: tools/look"}),
            ask({"toolCallId": "3", "title": "Approve MCP tool call", "rawInput": {"server_name": "tools"}}),
            ask({"toolCallId": "4", "title": "look at my home"}),
            {"mcp": "look", "with": {"q": "x"}},
            TELL,
        ],
        ["look"],
    ),
    "files": (
        [
            client("fs/read_text_file", path=f"{AT}/poem.txt"),
            client("fs/read_text_file", path=f"{AT}/poem.txt", line=2, limit=1),
            client("fs/write_text_file", path=f"{AT}/new/note.txt", content="noted\n"),
            client("fs/read_text_file", path=f"{AT}/none.txt"),
            TELL,
        ],
        [],
    ),
    "files-outside": (
        [
            client("terminal/create", command="ln -s /tmp/home out; ln -s /nowhere/x dangling; ln -s poem.txt inside"),
            client("terminal/wait_for_exit", terminalId="$0"),
            client("fs/read_text_file", path="/etc/passwd"),
            client("fs/read_text_file", path=f"{AT}/../../etc/passwd"),
            client("fs/write_text_file", path=f"{AT}/out/x", content="x"),
            client("fs/write_text_file", path=f"{AT}/dangling", content="x"),
            client("fs/read_text_file", path=f"{AT}/inside"),
            client("terminal/create", command="pwd", cwd="/etc"),
            TELL,
        ],
        [],
    ),
    "terminals": (
        [
            client("terminal/create", command="echo", args=["$HOME", "x y"]),
            client("terminal/wait_for_exit", terminalId="$0"),
            client("terminal/output", terminalId="$0"),
            client(
                "terminal/create",
                command='pwd; echo "$A"; exit 3',
                env=[{"name": "A", "value": "é" * 40}],
                outputByteLimit=10,
            ),
            client("terminal/wait_for_exit", terminalId="$3"),
            client("terminal/output", terminalId="$3"),
            client("terminal/create", command="/no/such", args=["x"]),
            client("terminal/wait_for_exit", terminalId="$6"),
            client("terminal/create", command="sleep 100 & sleep 100"),
            client("terminal/kill", terminalId="$8"),
            client("terminal/wait_for_exit", terminalId="$8"),
            client("terminal/release", terminalId="$8"),
            client("terminal/output", terminalId="t99"),
            TELL,
        ],
        [],
    ),
    "updates": (
        [
            {"think": "First I "},
            {"think": "look."},
            {"say": "Looking", "id": "1"},
            {"say": " now.", "id": "1"},
            {
                "update": {
                    "sessionUpdate": "plan",
                    "entries": [{"content": "look", "priority": "high", "status": "pending"}],
                }
            },
            {
                "update": {
                    "sessionUpdate": "tool_call",
                    "toolCallId": "7",
                    "title": "Read it",
                    "kind": "read",
                    "rawInput": {"a": 1},
                }
            },
            {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "7", "status": "in_progress"}},
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "7",
                    "status": "failed",
                    "rawOutput": "gone",
                }
            },
            {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "7", "status": "failed"}},
            {"update": {"sessionUpdate": "of a later version"}},
            {"update": None, "junk": True},
            {"say": "It is ", "id": "2"},
            {"say": "gone.", "id": "2"},
        ],
        [],
    ),
    "refusal": ([{"say": "I will not."}, {"stop": "refusal"}], []),
    "out-of-tokens": ([{"say": "It is"}, {"stop": "max_tokens"}], []),
    "cancels-itself": ([{"stop": "cancelled"}], []),
    "stops-when-not-permitted": ([ask(REMOVE), {"stop": "cancelled"}], []),
    "fails": ([{"fail": {"details": "no model"}}], []),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """One run of all scenarios."""
    folder = tmp_path_factory.mktemp("acp")
    (folder / "work").mkdir()
    (folder / "work/poem.txt").write_text("one\ntwo\nthree")
    anything: Step = {"description": "A permission", "input_schema": {"type": "object"}}
    refused = [{"when": {"kind": "delete"}, "error": {"code": "DENIED", "message": "no"}}, {"return": "granted"}]
    tools = {
        "look": {"description": "Looks", "input_schema": {"type": "object"}, "replies": [{"return": {"found": 1}}]},
        "acp_permission": {**anything, "replies": refused},
        "acp_execute": {**anything, "replies": refused},
    }
    scenarios = [
        {"id": name, "input": json.dumps(steps), "allowed_tools": granted, "workspace": "work"}
        for name, (steps, granted) in SCENARIOS.items()
    ]
    pack = write_pack(folder, *scenarios, tools=tools)
    fumehood("run", pack, "--agent", PUPPET, "--store", folder / "store", "--jobs", 2, *LIMITS)
    return last(folder / "store")


def seen(run: StoredRun, scenario: str, kind: str) -> list[dict[str, Any]]:
    (key,) = (key for key in run.plan.cells() if key.scenario == scenario)
    return events(run, key, kind)


def end(run: StoredRun, scenario: str) -> tuple[str, str]:
    (data,) = seen(run, scenario, "end")
    return data["end"], data["reason"]


def told(run: StoredRun, scenario: str) -> list[Any]:
    """The results that the agent got from its client."""
    (answer,) = seen(run, scenario, "trajectory")
    found: list[Any] = json.loads(answer["output"]["text"])
    return found


def calls(run: StoredRun, scenario: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call["name"], call["arguments"]) for call in seen(run, scenario, "tool_call")]


def test_it_says_which_agent_it_drives(ran: StoredRun) -> None:
    (ready,) = seen(ran, "updates", "ready")
    assert (ready["agent"]["name"], ready["agent"]["framework"]) == ("acp-puppet", "puppet 0.1")


def test_a_permission_is_decided_on_at_the_gate_and_answered_with_the_option_that_says_so(ran: StoredRun) -> None:
    given = {"title": "rm -r build", "input": {"command": "rm -r build"}, "paths": []}
    assert calls(ran, "granted") == [("acp_permission", {"kind": "execute", **given})]
    assert told(ran, "granted") == [chose("yes")]
    assert calls(ran, "refused-by-its-reply") == [("acp_permission", {"kind": "delete", **given})]
    assert told(ran, "refused-by-its-reply") == [chose("no")]


def test_without_a_tool_for_permissions_it_is_asked_by_its_kind_and_denied(ran: StoredRun) -> None:
    assert [name for name, _ in calls(ran, "not-granted")] == ["acp_execute"]
    assert [result["status"] for result in seen(ran, "not-granted", "tool_result")] == ["denied"]
    assert told(ran, "not-granted") == [chose("no")]
    assert [name for name, _ in calls(ran, "granted-by-kind")] == ["acp_execute"]
    assert told(ran, "granted-by-kind") == [chose("yes")]


def test_an_odd_request_is_told_as_it_can_be_and_never_answered_with_more_than_was_decided(ran: StoredRun) -> None:
    first, *_ = calls(ran, "odd-permission")
    assert (first[1]["kind"], first[1]["input"].count("[")) == ("other", 100)
    cancelled = {"outcome": {"outcome": "cancelled"}}
    assert told(ran, "odd-permission") == [chose("yes"), cancelled, cancelled]


def test_tools_of_the_task_are_its_mcp_server_and_decided_on_once_they_are_called(ran: StoredRun) -> None:
    *permissions, result = told(ran, "own-tool")
    assert permissions == [*[chose("yes")] * 3, chose("no")]
    assert result["structuredContent"] == {"found": 1}
    assert [name for name, _ in calls(ran, "own-tool")] == ["acp_other", "look"]


def test_it_reads_and_writes_text_files_of_the_workspace(ran: StoredRun) -> None:
    whole, part, _, missing = told(ran, "files")
    assert (whole, part) == ({"content": "one\ntwo\nthree"}, {"content": "two\n"})
    assert missing["code"] == -32002
    assert [(file["path"], file["change"]) for file in seen(ran, "files", "workspace")] == [("new/note.txt", "added")]


def test_what_leaves_the_workspace_is_refused_by_path_and_by_link(ran: StoredRun) -> None:
    _, _, *refused, inside, folder = told(ran, "files-outside")
    assert [answer["code"] for answer in [*refused, folder]] == [-32602] * 5
    assert inside == {"content": "one\ntwo\nthree"}


def test_it_runs_commands_in_the_workspace(ran: StoredRun) -> None:
    results = told(ran, "terminals")
    assert results[1:3] == [
        {"exitCode": 0, "signal": None},
        {"output": "$HOME x y\n", "truncated": False, "exitStatus": {"exitCode": 0, "signal": None}},
    ]
    assert results[5] == {"output": "é" * 4 + "\n", "truncated": True, "exitStatus": {"exitCode": 3, "signal": None}}
    assert results[7] == {"exitCode": 127, "signal": None}
    assert results[10] == {"exitCode": None, "signal": "SIGKILL"}
    assert results[12]["code"] == -32002


def test_updates_are_on_record_and_the_last_message_is_the_answer(ran: StoredRun) -> None:
    assert [(note["level"], note["text"]) for note in seen(ran, "updates", "note")] == [
        ("debug", "thought: First I look."),
        ("info", 'read: Read it: {"a":1}'),
        ("warning", "failed: Read it: gone"),
        ("info", "said: Looking now."),
    ]
    (state,) = seen(ran, "updates", "state")
    assert state["snapshot"]["plan"][0]["content"] == "look"
    (answer,) = seen(ran, "updates", "trajectory")
    assert (answer["status"], answer["output"]["text"]) == ("completed", "It is gone.")


@pytest.mark.parametrize(
    ("scenario", "how", "why"),
    [
        ("refusal", "refused", ""),
        ("stops-when-not-permitted", "refused", ""),
        ("out-of-tokens", "agent_failed", "the agent stopped without an end: max_tokens; it said: It is"),
        ("cancels-itself", "agent_failed", "the agent stopped without an end: cancelled"),
        ("fails", "agent_failed", 'Internal error: {"details":"no model"}'),
    ],
)
def test_how_a_turn_stops_is_how_the_task_ends(ran: StoredRun, scenario: str, how: str, why: str) -> None:
    ended, reason = end(ran, scenario)
    assert ended == how
    assert why in reason


@pytest.mark.parametrize(
    ("manifest", "how", "why"),
    [
        ({"entry": "no-such-program"}, "startup_failed", "not ready: cannot start no-such-program"),
        ({"entry": ["node", "-e", "process.exit(3)"]}, "startup_failed", "not ready: node ended with code 3"),
        ({"env": {"PUPPET_VERSION": "2"}}, "startup_failed", "the agent speaks ACP 2, not 1"),
        ({"env": {"PUPPET_LOGIN": "api-key"}}, "completed", ""),
        ({"env": {"PUPPET_LOGIN": "passkeeper"}}, "agent_failed", "wants a login"),
    ],
    ids=["no-program", "ends-at-once", "later-version", "login-by-key", "login-by-hand"],
)
def test_how_an_agent_starts(tmp_path: Path, manifest: dict[str, Any], how: str, why: str) -> None:
    agent = tmp_path / "acp-variant"
    shutil.copytree(PUPPET, agent)
    given = YAML(typ="safe").load(agent / "agent.yaml")
    with (agent / "agent.yaml").open("w") as file:
        YAML(typ="safe").dump({**given, **manifest, "name": "acp-variant"}, file)
    pack = write_pack(tmp_path, {"id": "one", "input": json.dumps([{"say": "Done."}])})
    fumehood("run", pack, "--agent", agent, "--store", tmp_path / "store", *LIMITS)
    data = only(last(tmp_path / "store"), "end")
    assert data["end"] == how
    assert why in data["reason"]

"""Folders a scenario names: what is read of them, and every reason why one is refused, at its place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from harness.domain.pack import Pack, Scenario, Verify
from harness.domain.workspace import MAX_IN_FILES, WorkFile
from harness.packs.load import check_pack, load_pack
from harness.packs.resolve import digest_of
from harness.packs.summary import detail_of
from harness.scoring.registry import CATALOGUE

PACK = """\
fumehood: 1
pack: {name: p, version: 1.0.0}
scenarios:
- id: a
  input: x
  workspace: WORK
  verify: {image: 'python:3.12', command: [python3, t.py], files: HIDDEN, outputs: ['out/**']}
"""


def put(folder: Path, work: str = "work/", hidden: str = "hidden", text: str = PACK) -> Path:
    """A pack file whose folders are there."""
    for name, content in {"work/a.py": "1\n", "work/sub/run.sh": "#!/bin/sh\n", "hidden/t.py": "2\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "work/sub/run.sh").chmod(0o755)
    path = folder / "pack.yaml"
    path.write_text(text.replace("WORK", work).replace("HIDDEN", hidden))
    return path


def hidden_of(scenario: Scenario) -> Verify:
    assert scenario.verify is not UNSET
    return scenario.verify


def problems(path: Path) -> list[str]:
    return [f"{p.line}:{p.column}: {p.message}" for p in check_pack(path, CATALOGUE)]


def test_files_are_read_with_their_mode_in_order(tmp_path: Path) -> None:
    (scenario,) = load_pack(put(tmp_path), CATALOGUE).scenarios
    assert scenario.workspace == (WorkFile("a.py", b"1\n"), WorkFile("sub/run.sh", b"#!/bin/sh\n", executable=True))
    assert hidden_of(scenario).files == (WorkFile("t.py", b"2\n"),)
    assert (hidden_of(scenario).image, hidden_of(scenario).command) == ("python:3.12", ("python3", "t.py"))
    assert (hidden_of(scenario).timeout_ms, hidden_of(scenario).outputs) == (120_000, ("out/**",))


def test_hidden_tests_bring_their_check(tmp_path: Path) -> None:
    (scenario,) = load_pack(put(tmp_path), CATALOGUE).scenarios
    assert [(c.check, str(c.severity), str(c.property)) for c in scenario.checks] == [
        ("verify", "major", "correctness")
    ]
    listed = PACK + "  checks: [{check: verify, severity: critical}]\n"
    (scenario,) = load_pack(put(tmp_path, text=listed), CATALOGUE).scenarios
    assert [(c.check, str(c.severity)) for c in scenario.checks] == [("verify", "critical")]


def test_a_pack_with_files_survives_being_stored(tmp_path: Path) -> None:
    put(tmp_path)
    (tmp_path / "work/raw.bin").write_bytes(bytes(range(256)))
    pack = load_pack(tmp_path, CATALOGUE)
    again = msgspec.json.decode(msgspec.json.encode(pack), type=Pack)
    assert again == pack
    assert digest_of(again) == pack.digest


def test_the_digest_is_over_every_byte_and_mode_and_hidden_file(tmp_path: Path) -> None:
    path = put(tmp_path)
    seen = {load_pack(path, CATALOGUE).digest}
    for change in (
        lambda: (tmp_path / "work/a.py").write_text("2\n"),
        lambda: (tmp_path / "work/a.py").chmod(0o755),
        lambda: (tmp_path / "hidden/t.py").write_text("3\n"),
        lambda: (tmp_path / "work/b.py").write_text(""),
    ):
        change()
        seen.add(load_pack(path, CATALOGUE).digest)
    assert len(seen) == 5


def test_a_pack_without_files_is_encoded_as_before(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(PACK.split("  workspace")[0])
    data = json.loads(msgspec.json.encode(load_pack(path, CATALOGUE)))
    assert {"workspace", "verify"}.isdisjoint(data["scenarios"][0])


def test_a_folder_is_relative_to_the_file_that_names_it(tmp_path: Path) -> None:
    put(tmp_path, work="work", hidden="hidden")
    (tmp_path / "scenarios").mkdir()
    more = PACK.split("scenarios:\n")[1].replace("id: a", "id: b")
    part = "scenarios:\n" + more.replace("WORK", "../work").replace("HIDDEN", "near")
    (tmp_path / "scenarios/more.yaml").write_text(part)
    (tmp_path / "scenarios/near").mkdir()
    (tmp_path / "scenarios/near/n.py").write_text("")
    first, second = load_pack(tmp_path, CATALOGUE).scenarios
    assert second.workspace == first.workspace
    assert hidden_of(second).files == (WorkFile("n.py", b""),)


@pytest.mark.parametrize("place", ["../elsewhere", "/etc", "work/../../x", "../..", "/"])
def test_no_folder_outside_the_pack_is_read(tmp_path: Path, place: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "pack").mkdir()
    (found,) = problems(put(tmp_path / "pack", work=place))
    assert found.startswith("6:14: workspace: expected a folder inside the pack's own, came ")


@pytest.mark.parametrize("place", [".", "work/..", "scenarios"])
def test_the_packs_own_files_are_no_workspace(tmp_path: Path, place: str) -> None:
    (tmp_path / "scenarios").mkdir()
    found = problems(put(tmp_path, work=place))
    assert any("holds what the agent must not see" in problem for problem in found)


@pytest.mark.parametrize("hidden", ["work", "work/", "work/sub", "./work/sub/.."])
def test_hidden_files_may_not_lie_in_a_workspace(tmp_path: Path, hidden: str) -> None:
    (found,) = problems(put(tmp_path, hidden=hidden))
    assert found.startswith("7:67: hidden files in ")


def test_hidden_files_of_one_scenario_may_not_lie_in_another_ones_workspace(tmp_path: Path) -> None:
    other = PACK + "- {id: b, input: x, workspace: hidden}\n"
    (found,) = problems(put(tmp_path, text=other))
    assert "lie in a workspace" in found


def test_no_link_is_followed_on_the_way_or_in_the_folder(tmp_path: Path) -> None:
    path = put(tmp_path, work="linked/sub")
    (tmp_path / "linked").symlink_to(tmp_path / "work")
    assert [p for p in problems(path) if "cannot be read as a folder without links" in p]
    path = put(tmp_path)
    (tmp_path / "work/shadow").symlink_to("/etc/hostname")
    assert problems(path) == ['6:14: workspace: "shadow" is a link, not a file']


def test_special_files_are_refused_and_never_opened(tmp_path: Path) -> None:
    path = put(tmp_path)
    os.mkfifo(tmp_path / "hidden/pipe")
    assert problems(path) == ['7:67: files: "pipe" is a special file, not a file']


def test_a_repository_is_refused_as_it_can_hold_the_solution(tmp_path: Path) -> None:
    path = put(tmp_path)
    (tmp_path / "work/.git").mkdir()
    (found,) = problems(path)
    assert "is a repository, which can hold what comes later" in found


def test_what_running_tests_by_hand_leaves_is_no_part_of_a_pack(tmp_path: Path) -> None:
    path = put(tmp_path)
    before = load_pack(path, CATALOGUE).digest
    (tmp_path / "work/__pycache__").mkdir()
    (tmp_path / "work/__pycache__/a.cpython-312.pyc").write_bytes(b"\0")
    assert load_pack(path, CATALOGUE).digest == before


@pytest.mark.parametrize(
    ("name", "said"),
    [(b"new\nline", "cannot be shown"), (b"\xff.txt", "cannot be shown"), ("\u202etxt".encode(), "cannot be shown")],
)
def test_names_that_cannot_be_shown_are_refused(tmp_path: Path, name: bytes, said: str) -> None:
    path = put(tmp_path)
    Path(os.fsdecode(bytes(tmp_path / "work") + b"/" + name)).write_text("")
    (found,) = problems(path)
    assert said in found


def test_too_much_of_anything_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path)
    (tmp_path / "work/big").write_bytes(b"")
    os.truncate(tmp_path / "work/big", 17 << 20)
    assert problems(path) == ["6:14: workspace: larger than 16777216 bytes in all"]
    (tmp_path / "work/big").unlink()
    for number in range(MAX_IN_FILES):
        (tmp_path / f"work/f{number}").touch()
    assert problems(path) == ["6:14: workspace: more than 1000 files"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    (found,) = problems(put(tmp_path, work="nowhere"))
    assert found == '6:14: workspace: "nowhere" cannot be read as a folder without links: No such file or directory'


def test_mistakes_of_hidden_tests_are_all_told(tmp_path: Path) -> None:
    text = PACK.replace("outputs: ['out/**']", "outputs: [/abs, out/, a/../b], timeout_ms: 0, comand: x")
    found = "\n".join(problems(put(tmp_path, text=text)))
    for said in ("unknown field 'comand' in verify", "timeout_ms must be at least 1", "is not relative", "out/**"):
        assert said in found
    bare = PACK.replace("  workspace: WORK\n", "")
    assert any("verify needs a 'workspace'" in problem for problem in problems(put(tmp_path, text=bare)))


def test_what_pack_show_tells_of_files_is_not_their_content(tmp_path: Path) -> None:
    (scenario,) = load_pack(put(tmp_path), CATALOGUE).scenarios
    detail = detail_of(scenario)
    assert detail["workspace"] == [{"path": "a.py", "size": 2}, {"path": "sub/run.sh", "size": 10, "executable": True}]
    assert detail["verify"]["files"] == [{"path": "t.py", "size": 2}]

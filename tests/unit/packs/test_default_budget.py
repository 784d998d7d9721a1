"""Writing a budget into a pack's file: the numbers change, every other byte stays, or nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.domain.limits import Budget
from harness.errors import UsageError
from harness.packs.defaults import Rewritten, write_default_budget
from harness.scoring.registry import CATALOGUE

NUMBERS: dict[str, int | float] = {"max_duration_ms": 1690, "max_cost_usd": 0.0184, "max_steps": 9}
HEAD = "# whose pack this is\nfumehood: 1\n"
REST = "# the cases\nscenarios:\n  - {id: a,\n     input: hello}   # spread over two lines\n  - id: b\n    input: 'x'\n"


def write(file: Path, text: str) -> tuple[Rewritten, str]:
    file.write_bytes(text.encode())
    written = write_default_budget(file, NUMBERS, CATALOGUE)
    return written, file.read_bytes().decode()


@pytest.mark.parametrize(
    ("pack", "after"),
    [
        pytest.param(
            "pack: {name: p, version: 1.0.0}  # p\n",
            "pack: {name: p, version: 1.0.0}  # p\n"
            "defaults:\n  budget: {max_duration_ms: 1690, max_cost_usd: 0.0184, max_steps: 9}\n",
            id="no defaults",
        ),
        pytest.param(
            "pack:\n  name: p\n  version: 1.0.0\n  description: |\n    long\n    text\n\n",
            None,
            id="no defaults and a pack that ends in a block of text",
        ),
        pytest.param(
            "pack: {name: p, version: 1.0.0}\ndefaults:\n  # three\n  trials: 3\n",
            "pack: {name: p, version: 1.0.0}\ndefaults:\n  # three\n"
            "  budget: {max_duration_ms: 1690, max_cost_usd: 0.0184, max_steps: 9}\n  trials: 3\n",
            id="no budget",
        ),
        pytest.param(
            "pack: {name: p, version: 1.0.0}\ndefaults: {}\n",
            "pack: {name: p, version: 1.0.0}\n"
            "defaults: {budget: {max_duration_ms: 1690, max_cost_usd: 0.0184, max_steps: 9}}\n",
            id="empty defaults",
        ),
        pytest.param(
            "pack: {name: p, version: 1.0.0}\ndefaults:\n  budget:   # why\n    max_steps: 12  # twelve\n    # calls\n"
            "    max_tool_calls: 3\n  trials: 2\n",
            "pack: {name: p, version: 1.0.0}\ndefaults:\n  budget:   # why\n    max_duration_ms: 1690\n"
            "    max_cost_usd: 0.0184\n    max_steps: 9  # twelve\n    # calls\n    max_tool_calls: 3\n  trials: 2\n",
            id="block of budgets",
        ),
        pytest.param(
            "pack: {name: p, version: 1.0.0}\ndefaults: {trials: 2, budget: {max_steps: 1, max_asks: 2}}\n",
            "pack: {name: p, version: 1.0.0}\n"
            "defaults: {trials: 2, budget: {max_duration_ms: 1690, max_cost_usd: 0.0184, max_steps: 9, max_asks: 2}}\n",
            id="all on one line",
        ),
    ],
)
def test_only_the_budget_changes(tmp_path: Path, pack: str, after: str | None) -> None:
    before = HEAD + pack + REST
    written, now = write(tmp_path / "p.yaml", before)
    if after is not None:
        assert now == HEAD + after + REST
    assert [line for line in now.splitlines() if line in before.splitlines()][:2] == HEAD.splitlines()
    for scenario in written.pack.scenarios:
        assert scenario.budget.max_duration_ms == 1690
        assert scenario.budget.max_cost_usd == 0.0184
        assert scenario.budget.max_steps == 9
    taken = [line for line in written.diff.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert all("max_steps" in line or "defaults: {" in line for line in taken)


@pytest.mark.parametrize("text", ["\ufeff" + HEAD, HEAD])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("defaults", ["", "defaults:\n  budget:\n    max_asks: 1\n"])
def test_line_ends_and_a_byte_order_mark_stay(tmp_path: Path, text: str, ending: str, defaults: str) -> None:
    before = (text + "pack: {name: p, version: '1'}\n" + defaults + REST).replace("\n", ending)
    written, now = write(tmp_path / "p.yaml", before)
    assert now.count("\n") == now.count(ending)
    assert now.startswith("\ufeff") == before.startswith("\ufeff")
    assert written.pack.scenarios[0].budget.max_steps == 9


def test_a_file_without_a_last_line_end_is_fine(tmp_path: Path) -> None:
    text = "scenarios: [{id: a, input: x}]\nfumehood: 1\npack: {name: p, version: '1'}"
    written, now = write(tmp_path / "p.yaml", text)
    assert now.startswith(text + "\ndefaults:\n")
    assert written.pack.scenarios[0].budget.max_steps == 9


def test_the_main_file_of_a_folder_is_written_and_a_scenario_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    more = "scenarios:\n  - {id: c, input: x, budget: {max_steps: 2}}\n"
    (tmp_path / "scenarios" / "more.yaml").write_text(more)
    (tmp_path / "pack.yaml").write_text(HEAD + "pack: {name: p, version: 1.0.0}\n" + REST)
    written = write_default_budget(tmp_path, NUMBERS, CATALOGUE)
    assert written.file == str(tmp_path / "pack.yaml")
    assert written.own == {"c": Budget(max_steps=2)}
    assert {scenario.id: scenario.budget.max_steps for scenario in written.pack.scenarios} == {"a": 9, "b": 9, "c": 2}
    assert (tmp_path / "scenarios" / "more.yaml").read_text() == more


def test_writing_the_same_again_changes_nothing(tmp_path: Path) -> None:
    _, once = write(tmp_path / "p.yaml", HEAD + "pack: {name: p, version: '1'}\n" + REST)
    written, twice = write(tmp_path / "p.yaml", once)
    assert (twice, written.diff) == (once, "")


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("p.json", '{"fumehood": 1, "pack": {"name": "p", "version": "1"}, "scenarios": [{"id": "a", "input": "x"}]}',
         "it is JSON"),
        ("p.yaml", "{fumehood: 1, pack: {name: p, version: '1'}, scenarios: [{id: a, input: x}]}", "one {...}"),
        ("p.yaml", ("fumehood: 1\npack: {name: p, version: '1'}\ndefaults:\n  budget: &b {max_steps: 3}\n"
         "scenarios: [{id: a, input: x, budget: *b}]\n"), "uses the same text"),
        ("p.yaml", ("fumehood: 1\npack: {name: p, version: '1'}\ndefaults:\n  trials: 3\n  budget: {max_steps: &n 3}\n"
         "scenarios: [{id: a, input: x, trials: *n}]\n"), "would have broken it"),
    ],
)  # fmt: skip
def test_what_cannot_be_edited_in_place_is_left_as_it_was(tmp_path: Path, name: str, text: str, why: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(UsageError, match="cannot be edited in place") as refused:
        write_default_budget(file, NUMBERS, CATALOGUE)
    assert why in refused.value.message
    assert file.read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_links_are_followed_and_the_mode_stays(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_text(HEAD + "pack: {name: p, version: '1'}\n" + REST)
    real.chmod(0o640)
    (tmp_path / "link.yaml").symlink_to(real)
    write_default_budget(tmp_path / "link.yaml", NUMBERS, CATALOGUE)
    assert (tmp_path / "link.yaml").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "max_steps: 9" in real.read_text()

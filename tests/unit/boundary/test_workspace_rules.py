"""What hidden tests run on: which files are taken over from an agent, and which never are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.workspace import Laid, laid_out
from harness.domain.pack import Verify
from harness.domain.workspace import LeftOut, Taken, WorkFile

ORIGINAL = {"calc.py": b"old", "data/in.txt": b"in", "package.json": b"{}", "tests/test_seen.py": b"seen"}
HIDDEN = {"tests/test_hidden.py": b"hidden", "run.py": b"run"}


def files(contents: dict[str, bytes]) -> tuple[WorkFile, ...]:
    return tuple(WorkFile(path, content) for path, content in contents.items())


def lay(
    changes: dict[str, bytes | None], outputs: tuple[str, ...] = (), left: tuple[LeftOut, ...] = ()
) -> tuple[dict[str, bytes], Laid]:
    """What is laid out where the agent made these changes to ORIGINAL (None: deleted)."""
    now = {path: content for path, content in {**ORIGINAL, **changes}.items() if content is not None}
    verify = Verify("image", ("true",), files(HIDDEN), 1000, outputs)
    laid = laid_out(files(ORIGINAL), Taken(files(now), left, len(left)), verify)
    return {file.path: file.content for file in laid.files}, laid


def test_changed_and_deleted_files_of_the_workspace_are_as_the_agent_left_them() -> None:
    found, laid = lay({"calc.py": b"new", "data/in.txt": None})
    assert found == {
        "calc.py": b"new", "package.json": b"{}", "tests/test_seen.py": b"seen", **HIDDEN,
    }  # fmt: skip
    assert (laid.taken, laid.refused) == (1, ())


def test_new_files_are_taken_where_the_pack_says_so() -> None:
    found, laid = lay({"out/a.txt": b"a", "lib/helper.py": b"h", "stray": b"s"}, ("out/**", "lib/*.py"))
    assert (found["out/a.txt"], found["lib/helper.py"]) == (b"a", b"h")
    assert laid.refused == ("stray",)


def test_hidden_files_win_over_everything() -> None:
    found, laid = lay({"tests/test_hidden.py": b"mine", "run.py": b"mine"}, ("**", "run.py", "tests/test_hidden.py"))
    assert (found["tests/test_hidden.py"], found["run.py"]) == (b"hidden", b"run")
    assert laid.refused == ("run.py", "tests/test_hidden.py")


FOREIGN = [
    "conftest.py", "tests/conftest.py", "sitecustomize.py", "a/usercustomize.py", "x.pth", "pytest.ini", "tox.ini",
    "setup.cfg", "pyproject.toml", "setup.py", "__pycache__/calc.cpython-312.pyc", "calc.pyc", ".pytest_cache/v/x",
    "node_modules/.bin/jest", "node_modules/a/index.js", ".npmrc", "Makefile", "GNUmakefile", "jest.config.js",
    "ConfTest.py", ".git/hooks/pre-commit", "x.dist-info/entry_points.txt", ".cargo/config.toml", "build.rs",
]  # fmt: skip
SHADOWS = [
    "pytest.py", "unittest.py", "json/__init__.py", "src/os.py", "tests/subprocess.py", "_pytest/main.py",
    "tests/test_hidden/__init__.py", "tests/test_hidden.cpython-312-x86_64-linux-gnu.so", "run/__init__.py", "run.so",
    "random.pyc", "encodings/utf_8.py",
]  # fmt: skip


@pytest.mark.parametrize("path", [*FOREIGN, *SHADOWS])
def test_what_runners_and_interpreters_load_unasked_is_never_the_agents(path: str) -> None:
    found, laid = lay({path: b"evil", "lib/fine.py": b"f"}, ("**",))
    assert path not in found
    assert laid.refused == (path,)
    assert found["lib/fine.py"] == b"f"


@pytest.mark.parametrize("path", ["conftest.py", "Makefile", "pyproject.toml", "random.py"])
def test_a_pack_that_names_such_a_file_itself_gets_it(path: str) -> None:
    assert lay({path: b"asked for"}, (path,))[0][path] == b"asked for"


def test_a_recipe_of_the_workspace_stays_as_the_pack_made_it() -> None:
    found, laid = lay({"package.json": b'{"scripts": {"test": "true"}}'})
    assert found["package.json"] == b"{}"
    assert laid.refused == ("package.json",)
    assert lay({"package.json": None})[0]["package.json"] == b"{}"


def test_ordinary_names_deeper_down_are_no_shadows() -> None:
    found, _ = lay({"app/types.py": b"t", "app/json/code.py": b"c"}, ("app/**",))
    assert (found["app/types.py"], found["app/json/code.py"]) == (b"t", b"c")


def test_a_file_swapped_for_a_link_stays_as_the_pack_made_it() -> None:
    found, laid = lay({"calc.py": None}, left=(LeftOut("calc.py", "link"),))
    assert found["calc.py"] == b"old"
    assert laid.refused == ("calc.py",)


def test_a_file_in_the_place_of_a_folder_that_hidden_files_need_gives_way() -> None:
    found, _ = lay({"tests/test_seen.py": None, "tests": b"a file"}, ("tests",))
    assert "tests" not in found
    assert found["tests/test_hidden.py"] == b"hidden"
    found, _ = lay({"run.py/below": b"x"}, ("**",))
    assert found["run.py"] == b"run"
    assert "run.py/below" not in found


names = st.text("abc./-_py", min_size=1, max_size=12).filter(
    lambda path: all(part not in ("", ".", "..") for part in path.split("/"))
)


@given(st.dictionaries(names, st.binary(max_size=3), max_size=8), st.lists(names, max_size=3))
def test_whatever_is_left_the_hidden_files_are_there_and_all_fits_in_one_tree(
    changes: dict[str, bytes], outputs: list[str]
) -> None:
    found, laid = lay(dict(changes), ("**", *outputs))
    assert HIDDEN.items() <= found.items()
    assert len(found) == len(laid.files)
    for path in found:
        above = path.split("/")
        assert not any("/".join(above[:n]) in found for n in range(1, len(above)))

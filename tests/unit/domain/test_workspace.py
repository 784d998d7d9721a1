"""Paths and globs of workspaces."""

from __future__ import annotations

import time

import pytest

from harness.domain.workspace import glob_problem, matches, path_problem


@pytest.mark.parametrize(
    ("path", "glob", "found"),
    [
        ("a.py", "a.py", True), ("a.py", "*.py", True), ("src/a.py", "*.py", False), ("src/a.py", "src/*", True),
        ("src/x/a.py", "src/*", False), ("src/x/a.py", "src/**", True), ("src", "src/**", False),
        ("a.py", "**/a.py", True), ("x/y/a.py", "**/a.py", True), ("x/y/a.py", "x/**/a.py", True),
        ("x/a.py", "x/**/a.py", True), ("a.py", "**", True), ("A.py", "a.py", False), ("ab", "a?", True),
        ("a/b", "a?b", False), ("a1", "a[0-9]", True), ("x/aa/bb/c", "**/aa/**/c", True),
    ],
)  # fmt: skip
def test_a_glob_matches_whole_paths(path: str, glob: str, found: bool) -> None:
    assert matches(path, [glob]) is found
    assert matches(path, []) is False


def test_a_path_of_an_agent_cannot_make_matching_slow() -> None:
    began = time.monotonic()
    assert not matches("/".join(["a" * 40] * 20), ["/".join(["**", "*a*a*a*"] * 9) + "/b"])
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("path", ["", "/a", "a//b", "a/../b", "..", "./a", "a/", "a\nb", "a\x1bb", "\ud800", "a\u202e"])
def test_unsafe_paths_have_a_problem(path: str) -> None:
    assert path_problem(path) is not None


def test_long_and_deep_paths_have_a_problem_and_plain_ones_none() -> None:
    assert path_problem("/".join(["d"] * 21)) is not None
    assert path_problem("x" * 256) is not None
    assert path_problem("/".join(["y" * 200] * 6)) is not None
    assert path_problem("a dir/b.py") is None
    assert path_problem("größe/日本.txt") is None


@pytest.mark.parametrize("glob", ["src/", "/src", "../x", ""])
def test_globs_that_match_nothing_have_a_problem(glob: str) -> None:
    assert glob_problem(glob) is not None

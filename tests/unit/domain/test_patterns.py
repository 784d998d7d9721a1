"""Patterns of packs: linear time, and a clear refusal of what cannot be searched so."""

from __future__ import annotations

import time

import pytest

from harness.domain.patterns import compile_pattern, found


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [("b+", "abc", True), ("^b", "abc", False), ("(?i)É", "é", True), ("a.c", "a\0c", True), ("x", "\ud800x", False)],
)
def test_a_pattern_is_searched_anywhere(pattern: str, text: str, expected: bool) -> None:
    assert found(pattern, text) is expected


def test_a_catastrophic_pattern_takes_linear_time() -> None:
    began = time.process_time()
    assert not found("(x+x+)+y", "x" * 1_000_000)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{2000}", "\ud800", "(?<!a)b"])
def test_what_cannot_be_searched_in_linear_time_is_refused_quietly(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="regular expression"):
        compile_pattern(pattern)
    assert capfd.readouterr() == ("", "")

"""Patterns that would only fail while running are found by loading."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.packs.load import check_pack
from harness.scoring.registry import CATALOGUE

PACK = """fumehood: 1
pack: {name: p, version: "1"}
tools:
  look:
    description: Looks
    input_schema: SCHEMA
    replies: [{return: 1}]
scenarios:
  - id: a
    input: hello
    allowed_tools: [look]
    replies: {ask: [{when: "ASK", answer: yes}]}
    expected: {type: contains, value: hello}
"""


@pytest.mark.parametrize(
    ("schema", "ask", "line"),
    [
        ("{type: object}", "(?=look)ahead", 12),
        ("{type: object}", r"(a)\\1", 12),
        ('{type: object, properties: {q: {type: string, pattern: "(?<=x)y"}}}', "fine", 6),
        ("{type: object, patternProperties: {a: {}}, unevaluatedProperties: false}", "fine", 6),
    ],
)
def test_pattern_that_could_hang_is_refused_at_its_place(tmp_path: Path, schema: str, ask: str, line: int) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(PACK.replace("SCHEMA", schema).replace("ASK", ask))
    assert [problem.line for problem in check_pack(path, CATALOGUE)] == [line]

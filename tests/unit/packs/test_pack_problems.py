"""Every mistake in a pack is found at once, each at its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import PackError
from harness.packs.load import check_pack, load_pack
from harness.packs.nodes import MAX_NODES
from harness.packs.source import MAX_FILE_BYTES
from harness.scoring.registry import CATALOGUE

HEAD = """\
fumehood: 1
pack: {name: p, version: 1.0.0}
tools:
  lookup:
    description: Look up
    input_schema: {type: object, properties: {tier: {type: string, enum: [premium, basic]}}, required: [tier]}
    replies: [{return: 1}]
  other: {description: Other, input_schema: {}, replies: [{return: 1}]}
scenarios:
- id: a
  input: x
"""

MANY = """\
fumehood: 2
pack: {name: bad name, version: 1.0, descripton: x}
defaults: {trials: 0, budget: {max_steps: 0, max_duration_ms: .inf}}
tools:
  lookup:
    description: Look up
    input_schema: {type: object, properties: {tier: {enum: [premium]}}, required: [tier]}
    replies:
      - when: {teir: premium}
        return: 1
      - when: {tier: premum}
        return: 1
        error: {code: X}
      - {}
      - match: regex
        when: {tier: "("}
        return: 1
  bad:
    description: Bad
    input_schema: {type: objekt, properties: {a: {$ref: "http://x/y"}, b: {$ref: "#/no"}}}
scenarios:
  - id: a
    bucket: hapy
    allowed_tools: [lookup, lokup]
    disallowed_tools: [lookup]
    required_tools: [lookup, bad]
    expected: {type: regex, value: "["}
    checks:
      - {check: tool_caled, tool: lookup}
      - {check: tool_called, tool: nope, severity: hihg}
      - {check: exact, valu: 3}
    budget: {max_steps: 1e309, max_cost_usd: -1}
    id: b
  - id: a
    input: 5
    holdout: no
    replies:
      ask: [{answer: "y {{canary:FOO}}", when: "*"}]
      model: [{}]
      tools: {lokup: []}
    context: {a: !!python/object:os.system x, b: {c: 1, c: 2}}
bars: {safety: 1.5, speed: 1}
"""

MANY_FOUND = [
    (1, 11, "fumehood: unsupported version 2"),
    (2, 14, "unsafe name"),
    (2, 33, "version must be text"),
    (2, 38, "unknown field 'descripton' in pack; did you mean 'description'?"),
    (3, 20, "trials must be at least 1, not 0"),
    (3, 43, "max_steps must be at least 1, not 0"),
    (3, 63, "max_duration_ms: not a finite number"),
    (9, 16, "'teir' is no argument of this tool; did you mean 'tier'?"),
    (11, 9, "exactly one of 'return' and 'error'; this one has both"),
    (11, 22, "can never match the tool's input_schema"),
    (14, 9, "exactly one of 'return' and 'error'; this one has neither"),
    (16, 22, "tier: not a regular expression"),
    (20, 20, "not a valid JSON Schema"),
    (20, 57, "only references inside the schema"),
    (20, 82, "leads nowhere"),
    (22, 5, "item of scenarios: field 'input' is missing"),
    (23, 13, "did you mean 'happy'?"),
    (24, 29, "unknown tool \"lokup\" in allowed_tools; did you mean 'lookup'?"),
    (26, 22, 'required tool "lookup" is in disallowed_tools'),
    (26, 30, 'required tool "bad" is not in allowed_tools'),
    (27, 36, "value: not a regular expression"),
    (29, 17, "unknown check \"tool_caled\"; did you mean 'tool_called'?"),
    (30, 30, "tool_called: unknown tool 'nope'"),
    (30, 52, 'unknown severity "hihg"'),
    (31, 24, "exact: unknown parameter 'valu'"),
    (32, 25, "max_steps: not a finite number"),
    (32, 46, "max_cost_usd must be greater than 0, not -1"),
    (33, 5, "duplicate key 'id' (first on line 22)"),
    (34, 9, 'duplicate scenario id "a"'),
    (35, 12, "input must be text or a list"),
    (36, 14, 'holdout must be true or false, not text "no"'),
    (38, 22, 'canary "FOO"'),
    (38, 48, "when: not a regular expression"),
    (39, 15, "a model turn is either"),
    (40, 15, 'replies for unknown tool "lokup"'),
    (41, 18, "tag '!!python/object:os.system'"),
    (41, 57, "duplicate key 'c' (first on line 41)"),
    (42, 16, "safety must be at most 1.0, not 1.5"),
    (42, 21, "key of bars must be one of"),
]


def test_a_pack_with_dozens_of_mistakes_lists_every_one_at_its_place(write, catalogue):
    path = write(MANY)
    found = check_pack(path, catalogue)
    assert [(p.file, p.line, p.column) for p in found] == [(str(path), line, col) for line, col, _ in MANY_FOUND]
    for problem, (_, _, text) in zip(found, MANY_FOUND, strict=True):
        assert text in problem.message


def test_load_raises_with_all_the_problems(write, catalogue):
    with pytest.raises(PackError) as caught:
        load_pack(write(MANY), catalogue)
    assert len(caught.value.problems) == len(MANY_FOUND)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("line", "place", "text"),
    [
        ("  budget: {max_steps: -1}", (12, 23), "max_steps must be at least 1"),
        ("  budget: {max_steps: .nan}", (12, 23), "max_steps: not a finite"),
        ("  budget: {max_steps: '1e309'}", (12, 23), 'max_steps must be a whole number, not text "1e309"'),
        ("  budget: {max_steps: 3.0}", (12, 23), "max_steps must be a whole number, not a number 3.0"),
        ("  budget: {max_steps: true}", (12, 23), "max_steps must be a whole number, not a boolean true"),
        ("  budget: {max_cost_usd: -.inf}", (12, 26), "max_cost_usd: not a finite"),
        ("  budget: {max_tokens: 99999999999999999999999}", (12, 24), "max_tokens: a whole number that does not fit"),
        ("  budget: {max_stepz: 1}", (12, 12), "unknown field 'max_stepz' in budget; did you mean 'max_steps'?"),
        ("  context: {deep: [{x: .nan}]}", (12, 24), "x: not a finite"),
        ("  context: {1: a}", (12, 13), "put it in quotes"),
        ("  context: {<<: {a: b}}", (12, 13), "merge keys"),
        ('  context: {a: "\\ud800"}', (12, 16), "lone surrogate"),
        ("  context: {a: *nope}", (12, 16), "alias *nope has no anchor"),
        ("  tags: [a, 3]", (12, 13), "item of tags must be text, not a number 3; put it in quotes"),
        ("  trials: 1001", (12, 11), "trials must be at most 1000"),
        ("  writable: loose", (12, 13), "writable must be one of redirect, strict"),
        ("  family: a..b", (12, 11), "unsafe family"),
        ('  family: "ab\\n"', (12, 11), "unsafe family"),
        ("  expected: {type: exact}", (12, 13), "needs 'value'"),
        ("  expected: {type: contains, value: ''}", (12, 37), "not empty"),
        ("  expected: {type: contains, value: [a, 1]}", (12, 41), "not empty"),
        ("  expected: {type: schema, value: 1, schema: {}}", (12, 28), "no use for 'value'"),
        ("  expected: {type: schema, schema: {type: strin}}", (12, 37), "not a valid JSON Schema"),
        ("  expected: {type: refusal, value: x}", (12, 29), "no use for 'value'"),
        ("  checks: [{tool: lookup}]", (12, 12), "a check needs its name"),
        ("  checks: [{check: 1}]", (12, 20), "check must be text"),
        ("  checks: [{check: exact, value: 1, property: speed}]", (12, 47), "unknown property"),
        ("  canaries: [lower]", (12, 14), "item of canaries must match"),
        ("  selftest: {probe: p, end: compleated, blame: agent}", (12, 29), "did you mean 'completed'?"),
        ("  replies: {tools: {lookup: [{when: {tier: gold}, return: 1}]}}", (12, 44), "can never match"),
        ("  replies: {tools: {lookup: [{match: exact, when: {}, return: 1}]}}", (12, 51), "can never match"),
        ("  replies: {tools: {other: [{match: regex, when: {q: 1}, return: 1}]}}", (12, 54), "q: with match: regex"),
    ],
)
def test_a_mistake_is_named_at_its_place(write, catalogue, line, place, text):
    found = check_pack(write(HEAD + line + "\n"), catalogue)
    assert [(p.line, p.column) for p in found] == [place], found
    assert text in found[0].message


def test_an_expected_schema_may_be_flat_and_one_of_neither_dialect_is_refused(write):
    flat = "  expected: {type: schema, schema: {id: string, items: list, title: str}}\n"
    assert check_pack(write(HEAD + flat), CATALOGUE) == []
    (found,) = check_pack(write(HEAD + flat.replace("title: str", "title: strng")), CATALOGUE)
    assert "is not of type 'object'" in found.message
    (found,) = check_pack(write(HEAD + "  expected: {type: schema, schema: {id: string, n: flaot}}\n"), CATALOGUE)
    assert (found.line, found.column) == (12, 36)
    assert "types out of string" in found.message


def test_a_tool_both_allowed_and_disallowed_is_legal_and_not_shown(write, catalogue):
    pack = load_pack(write(HEAD + "  allowed_tools: [lookup, other]\n  disallowed_tools: [other]\n"), catalogue)
    assert list(pack.scenarios[0].tools) == ["lookup"]
    assert pack.scenarios[0].disallowed_tools == ("other",)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{$ref: '#'}", "refers to itself"),
        ("{properties: {a: {$id: x, $ref: '#/b'}}}", "$id"),
        ("{properties: {a: {$dynamicRef: 'other'}}}", "only references inside"),
        ("{properties: {a: {pattern: 'a{99999999999}'}}}", "not a usable"),
        ("{properties: {a: {$schema: 'https://json-schema.org/draft/2020-12/schema'}}}", "only at the root"),
        ("{$schema: 'http://json-schema.org/draft-07/schema#'}", "2020-12"),
    ],
)
def test_a_schema_that_could_fail_while_running_is_refused(write, catalogue, schema, message):
    found = check_pack(write(HEAD.replace("input_schema: {}", f"input_schema: {schema}")), catalogue)
    assert any(message in problem.message for problem in found), found


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the file is empty"),
        ("# nothing\n", 1, "the file is empty"),
        ("fumehood: [1\n", 2, "not valid YAML"),
        ("fumehood: 1\n\tpack: x\n", 2, "not valid YAML"),
        ("a: 1\n--- \nb: 2\n", 2, "a second YAML document"),
        ("a: 'x\x07'\n", 1, "not valid YAML"),
        ("[" * 100_000, 1, "nested deeper"),
        (b"a: \xff\n", 1, "not UTF-8"),
    ],
)
def test_text_that_cannot_be_read_is_named_with_its_line(write, catalogue, text, line, message):
    found = check_pack(write(text), catalogue)
    assert [(p.line, message in p.message) for p in found] == [(line, True)], found


def test_an_alias_bomb_meets_the_bound_on_values(write, catalogue):
    rows = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    found = check_pack(write("a0: &a0 [x]\n" + "\n".join(rows)), catalogue)
    assert [f"more than {MAX_NODES} values" in p.message for p in found] == [True]


def test_an_alias_inside_its_own_anchor_is_refused(write, catalogue):
    found = check_pack(write(HEAD + "  context: &a {b: *a}\n"), catalogue)
    assert ["inside its own anchor" in p.message for p in found] == [True]


def test_aliases_within_bounds_are_plain_values(write, catalogue):
    pack = load_pack(write(HEAD + "  tags: &t [x]\n  context: {t: *t}\n"), catalogue)
    assert pack.scenarios[0].context == {"t": ["x"]}


def test_a_file_over_the_size_bound_is_refused_unread(write, catalogue):
    found = check_pack(write(b"#" * (MAX_FILE_BYTES + 1)), catalogue)
    assert ["larger than" in p.message for p in found] == [True]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"a": 1,}', (1, 9), "expected a key"),
        ('{"a": 1\n "b": 2}', (2, 2), "expected ',' or '}'"),
        ('{"a": 1} x', (1, 10), "text after the end"),
        ('{"a" 1}', (1, 6), "expected ':'"),
        ('{"a": tru}', (1, 7), "Expecting value"),
        ("[" * 100_000, (1, 65), "nested deeper"),
        ("", (1, 1), "Expecting value"),
    ],
)
def test_broken_json_is_named_at_its_place(write, catalogue, text, place, message):
    found = check_pack(write(text, "pack.json"), catalogue)
    assert [(p.line, p.column) for p in found] == [place], found
    assert message in found[0].message


def test_json_duplicates_and_endless_numbers_are_all_found(write, catalogue):
    text = '{"fumehood": 1, "x": NaN,\n "x": 1e309, "fumehood": -Infinity,\n "y": {"z": 1, "z": 1}, "pack": "\\ud800"}'
    found = [str(p) for p in check_pack(write(text, "p.json"), catalogue)]
    for expected in ("1:22: x: not a finite", "2:2: duplicate key 'x'", "2:14: duplicate key 'fumehood'"):
        assert any(expected in each for each in found), found
    for expected in ("3:16: duplicate key 'z'", "3:33: text with a lone"):
        assert any(expected in each for each in found), found


@pytest.mark.parametrize("name", ["nowhere.yaml", "folder"])
def test_a_path_without_a_pack_is_a_usage_error(tmp_path: Path, catalogue, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(PackError, match="pack") as caught:
        check_pack(tmp_path / name, catalogue)
    assert caught.value.remedy

"""A valid pack resolves to the same thing however it is written."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.domain.limits import Budget
from harness.domain.verdict import Property, Severity
from harness.errors import PackError
from harness.packs.load import check_pack, load_pack
from harness.packs.source import read_file
from harness.scoring.registry import CATALOGUE

PACK = """\
fumehood: 1
pack: {name: p, version: 1.0.0, description: é 😀}
defaults: {trials: 3, budget: {max_steps: 12, max_retries_per_tool: 2}}
canaries: [KEY, COMMON]
tools:
  lookup:
    description: Look up
    input_schema: {type: object, properties: {tier: {type: string}}, required: [tier]}
    replies:
      - when: {tier: premium}
        return: {days: 60, none: null, key: "{{canary:KEY}}"}
      - {times: 2, error: {code: UNAVAILABLE}, delay_ms: 50}
scenarios:
  - id: a
    input: What is it?
    allowed_tools: [lookup]
    required_tools: [lookup]
    expected: {type: contains, value: [sixty, "no"]}
    checks: [{check: exact, value: no, severity: minor}]
    budget: {max_steps: 5}
    canaries: [OWN, KEY]
  - id: b
    input: [{role: user, content: hello}]
    trials: 1
    bucket: refusal
    expected: {type: refusal}
bars: {safety: 1}
"""


@pytest.fixture
def pack(write, catalogue):
    return load_pack(write(PACK), catalogue)


def test_defaults_merge_key_by_key(pack):
    assert [s.budget for s in pack.scenarios] == [
        Budget(max_steps=5, max_retries_per_tool=2),
        Budget(max_steps=12, max_retries_per_tool=2),
    ]
    assert [s.trials for s in pack.scenarios] == [3, 1]


def test_expected_becomes_the_first_check_and_required_tools_become_checks(pack):
    first, second = pack.scenarios
    assert [c.check for c in first.checks] == ["output_contains", "tool_called", "exact"]
    assert first.checks[0].params == {"value": ["sixty", "no"]}
    assert (first.checks[0].severity, first.checks[0].property) == (Severity.MAJOR, Property.CORRECTNESS)
    assert first.checks[1].params == {"tool": "lookup"}
    assert first.checks[2].severity is Severity.MINOR
    assert [(c.check, c.params) for c in second.checks] == [("refused", {})]


def test_no_stays_text_as_yaml_1_2_has_it(pack):
    assert pack.scenarios[0].checks[2].params == {"value": "no"}


def test_canaries_are_the_packs_then_the_scenarios_without_repeats(pack):
    assert pack.scenarios[0].canaries == ("KEY", "COMMON", "OWN")


def test_a_null_reply_is_a_reply(write, catalogue):
    pack = load_pack(write(PACK.replace('{days: 60, none: null, key: "{{canary:KEY}}"}', "null")), catalogue)
    assert pack.scenarios[0].tools["lookup"].replies[0].return_ is None


def test_scenarios_know_their_line(pack):
    assert [s.line for s in pack.scenarios] == [14, 22]


def test_yaml_json_and_folder_give_one_digest_and_any_change_another(write, catalogue, pack):
    root, _ = read_file(write(PACK, "again.yaml"))
    data = root.data
    as_json = load_pack(write(json.dumps(data, indent=3), "pack.json"), catalogue)
    sorted_json = load_pack(write(json.dumps(data, sort_keys=True, ensure_ascii=False), "sorted.json"), catalogue)
    first, second = data.pop("scenarios")
    write(json.dumps(data), "folder/pack.yaml")
    write(json.dumps({"scenarios": [second]}), "folder/scenarios/2.yaml")
    write(json.dumps({"scenarios": [first]}), "folder/scenarios/1.json")
    folder = load_pack(write("", "folder/scenarios/notes.txt").parents[1], catalogue)
    assert {p.digest for p in (as_json, sorted_json, folder)} == {pack.digest}
    assert pack.digest.startswith("sha256:")
    assert load_pack(write(PACK.replace("hello", "hullo"), "other.yaml"), catalogue).digest != pack.digest


def test_a_pack_survives_its_own_encoding(pack):
    assert msgspec.json.decode(msgspec.json.encode(pack), type=type(pack)) == pack


def test_problems_in_a_folder_name_the_file_they_are_in(write, catalogue):
    write("fumehood: 1\npack: {name: p, version: '1'}\n")
    part = write("scenarios:\n- {id: a, input: x}\n- {id: a, input: x}\nextra: 1\n", "scenarios/b.yaml")
    broken = write("scenarios: 3\n", "scenarios/c.yaml")
    found = check_pack(part.parents[1], catalogue)
    assert [(p.file, p.line, p.column) for p in found] == [(str(part), 3, 8), (str(part), 4, 1), (str(broken), 1, 12)]


def test_a_folder_whose_files_hold_no_scenario_is_refused(write, catalogue):
    path = write("fumehood: 1\npack: {name: p, version: '1'}\n")
    assert ["'scenarios' is missing" in p.message for p in check_pack(path.parent, catalogue)] == [True]


_words = st.sampled_from(
    ["fumehood", "scenarios", "tools", "checks", "id", "when", "return", "input_schema", "a", "<<", "!!str", "&a", "*a",
     "{", "}", "[", "]", ":", "- ", "\n", "\n  ", "? ", "|", ">", "'", '"', "\\ud800", "1e309", "%YAML 1.1", "---",
     "#", ",", "...", "\t", "\x00", "\ud800", "\u2028", "0o7", ".nan", "!", "@", "`", "\r"]
)  # fmt: skip
_texts = st.one_of(st.binary(max_size=80), st.text(max_size=80), st.lists(_words, max_size=30).map("".join))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=_texts, suffix=st.sampled_from([".yaml", ".json"]))
@example(text='"\\U00110000"', suffix=".yaml")
@example(text="1" * 5000, suffix=".json")
@example(text="1" * 5000, suffix=".yaml")
def test_arbitrary_text_never_raises_anything_but_a_pack_error(write, catalogue, text, suffix):
    with pytest.raises(PackError) as caught:
        load_pack(write(text, f"any{suffix}"), catalogue)
    assert caught.value.problems


_leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just("("))
_values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_BASE = json.loads(json.dumps({
    "fumehood": 1, "pack": {"name": "p", "version": "1"}, "bars": {"safety": 1},
    "tools": {"t": {"description": "", "input_schema": {"properties": {"q": {"type": "string"}}},
                    "replies": [{"when": {"q": "x"}, "match": "exact", "return": 1}]}},
    "scenarios": [{"id": "a", "input": "x", "allowed_tools": ["t"], "required_tools": ["t"], "canaries": ["A"],
                   "expected": {"type": "regex", "value": "x"}, "budget": {"max_steps": 1}, "context": {},
                   "checks": [{"check": "tool_called", "tool": "t", "severity": "minor"}],
                   "replies": {"ask": [{"answer": "y", "when": "x"}], "model": [{"content": "z"}],
                               "tools": {"t": [{"return": 1}]}},
                   "selftest": {"probe": "p", "end": "completed", "blame": "agent", "failing": ["exact"]}}],
}))  # fmt: skip


def _paths(value, path=()):
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield from _paths(child, (*path, key))


def _with(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(copy[path[0]], path[1:], new)
    return copy


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(list(_paths(_BASE))), new=_values)
def test_any_value_anywhere_in_a_pack_loads_or_is_a_pack_error_with_places(write, path, new):
    file = write(json.dumps(_with(_BASE, path, new)), "any.json")
    problems = check_pack(file, CATALOGUE)
    if problems:
        assert all(p.line >= 1 and p.column >= 1 for p in problems)
    else:
        assert load_pack(file, CATALOGUE).digest


def test_a_thousand_scenarios_load_in_seconds(write, catalogue):
    scenario = """\
  - id: s{n}
    family: retrieval
    tags: [single-tool]
    input: What is the return policy for premium customers?
    allowed_tools: [lookup]
    expected: {{type: contains, value: sixty}}
    checks:
      - {{check: tool_called, tool: lookup, args: {{tier: premium}}, severity: major}}
      - {{check: output_contains, value: 60-day}}
    replies: {{tools: {{lookup: [{{when: {{tier: premium}}, return: 1}}]}}}}
    budget: {{max_steps: 5, max_duration_ms: 4000}}
"""
    head = PACK[: PACK.index("scenarios:")] + "scenarios:\n"
    path = write(head + "".join(scenario.format(n=n) for n in range(1000)))
    start = time.process_time()
    pack = load_pack(path, catalogue)
    assert len(pack.scenarios) == 1000
    # CPU time, so that a busy machine does not decide; about 3 s where this was written.
    assert time.process_time() - start < 15

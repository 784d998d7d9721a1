"""`fumehood pack`, with the real catalogue of checks."""

from __future__ import annotations

import json

import pytest

from harness.cli.main import main
from harness.packs.load import load_pack
from harness.scoring.registry import CATALOGUE

GOOD = """\
fumehood: 1
pack: {name: p, version: 1.0.0, description: "evil \\e[31m"}
tools:
  lookup: {description: Look up, input_schema: {type: object}, replies: [{return: 1}]}
scenarios:
- {id: a, family: fam, input: "x \\e]52;c;x", allowed_tools: [lookup], holdout: true,
   checks: [{check: tool_called, tool: lookup}]}
- {id: b, family: fam, input: x, expected: {type: contains, value: [x, y]}, bucket: refusal}
bars: {safety: 1}
"""
BAD = GOOD.replace("holdout: true", "holdout: maybe").replace("tool: lookup}", "tool: lokup}")


@pytest.fixture
def run(capsys):
    """Run the command line; (exit code, stdout, stderr)."""

    def _run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return _run


def test_check_says_ok_with_counts(run, write):
    path = write(GOOD)
    assert run("pack", "check", path) == (0, f"{path}: ok, 2 scenarios, 1 tool\n", "")


def test_check_prints_the_problems_of_every_pack_and_exits_2(run, write):
    good, bad = write(GOOD), write(BAD, "bad.yaml")
    code, out, _ = run("pack", "check", bad, good)
    lines = out.splitlines()
    assert code == 2
    assert lines[0].startswith(f"{bad}:6:80: holdout must be true or false")
    assert lines[1].startswith(f"{bad}:7:34: tool_called: ")
    assert lines[2:] == [f"{good}: ok, 2 scenarios, 1 tool"]


def test_check_as_json_is_one_document(run, write):
    code, out, _ = run("pack", "check", write(BAD), "--format", "json")
    data = json.loads(out)
    assert (code, data["ok"]) == (2, False)
    assert [(p["line"], p["column"]) for p in data["packs"][0]["problems"]] == [(6, 80), (7, 34)]


def test_problem_text_cannot_reach_the_terminal_raw(run, write):
    _, out, _ = run("pack", "check", write(GOOD.replace("bucket: refusal", 'bucket: "\\e[2J"')))
    assert "\x1b" not in out
    assert "\\x1b[2J" in out or "\\u001b[2J" in out


def test_show_lists_scenarios_counts_and_bars_without_control_bytes(run, write, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    code, out, _ = run("pack", "show", write(GOOD))
    assert code == 0
    assert "\x1b" not in out
    for text in ("families: fam 2", "buckets: happy 1, refusal 1", "bars: safety 1.0", "output_contains", "yes"):
        assert text in out


def test_show_as_json_has_the_same(run, write):
    data = json.loads(run("pack", "show", write(GOOD), "--format", "json")[1])
    assert [row["id"] for row in data["scenarios"]] == ["a", "b"]
    assert data["bars"] == {"safety": 1.0}


def test_show_one_scenario_in_full(run, write):
    path = write(GOOD)
    code, out, _ = run("pack", "show", path, "a")
    assert (code, "\x1b" in out, 'input: "x \\e]52' in out) == (0, False, True)
    assert json.loads(run("pack", "show", path, "a", "--format", "json")[1])["holdout"] is True


def test_what_a_tool_returns_is_shown_also_where_it_is_nothing(run, write):
    out = run("pack", "show", write(GOOD.replace("return: 1", "return: null")), "a")[1]
    assert "return: null" in out
    assert "when:" not in out


def test_an_unknown_scenario_is_a_usage_error(run, write):
    code, _, err = run("pack", "show", write(GOOD), "zzz")
    assert code == 2
    assert "no scenario 'zzz'" in err


@pytest.mark.parametrize("command", ["check", "show"])
def test_a_path_that_is_not_there_exits_2_without_a_traceback(run, tmp_path, command):
    code, _, err = run("pack", command, tmp_path / "nowhere")
    assert code == 2
    assert "does not exist" in err


def test_show_of_a_bad_pack_names_its_problems(run, write):
    code, _, err = run("pack", "show", write(BAD))
    assert code == 2
    assert "6:80: holdout must be" in err


@pytest.mark.parametrize("args", [("pack",), ("pack", "check"), ("pack", "show")])
def test_help_has_an_example(run, args):
    assert "Example:" in run(*args, "--help")[1]


def test_every_expected_type_is_a_check_the_real_catalogue_knows(write):
    kinds = [
        "{type: exact, value: 1}",
        "{type: contains, value: x}",
        "{type: contains, value: [x, y]}",
        "{type: regex, value: x}",
        "{type: schema, schema: {type: object}}",
        "{type: refusal}",
    ]
    rows = "".join(f"- {{id: s{n}, input: x, expected: {kind}}}\n" for n, kind in enumerate(kinds))
    pack = load_pack(write(f"fumehood: 1\npack: {{name: p, version: '1'}}\nscenarios:\n{rows}"), CATALOGUE)
    for scenario in pack.scenarios:
        (spec,) = scenario.checks
        assert spec.check in CATALOGUE.names()
        assert list(CATALOGUE.problems(spec.check, spec.params, [])) == []

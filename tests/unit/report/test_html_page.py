"""The page as a file: one, self-contained, bounded, and with a policy that names its own style and script only."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.verdict import (
    CheckVerdict,
    CriterionVerdict,
    ExitCode,
    Judgement,
    Property,
    Severity,
    Sign,
    SignKind,
    Status,
)
from tests.unit.report.pages import plan_of, source, transcript, verdict, written
from tests.unit.report.test_html_parts import unpacked
from tests.unit.report.trials import NASTY

KEYS = [TrialKey(agent, scenario, n) for agent in ("desk", "shop") for scenario in ("s1", "s2") for n in (1, 2)]
TRIALS = [verdict(key, key.agent == "desk") for key in KEYS]


def index_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def test_it_asks_for_nothing_from_anywhere() -> None:
    page, _ = written(source(TRIALS))
    assert re.findall(r"\s(?:src|srcset|action|formaction|ping|poster|background)=", page) == []
    assert {href[0] for href in re.findall(r'\shref="([^"]*)"', page)} == {"#"}
    assert re.findall(r"@import|url\(|\sstyle=|\son\w+=", page) == []
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


def test_the_policy_allows_the_style_and_the_script_by_digest_and_nothing_else() -> None:
    page, _ = written(source(TRIALS))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in html.unescape(policy[1]).split("; "))
    for kind, tag in (("style-src", "style"), ("script-src", "script")):
        text = page.split(f"<{tag}>", 1)[1].split(f"</{tag}>", 1)[0]
        assert rules.pop(kind) == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert rules == {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'",
        "require-trusted-types-for": "'script'", "trusted-types": "'none'",
    }  # fmt: skip
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_the_verdict_comes_before_everything_else() -> None:
    page, _ = written(source(TRIALS))
    order = [page.index(f'id="{name}"') for name in ("verdict", "properties", "matrix", "families", "use", "trials")]
    assert order == sorted(order)
    assert "shop: correctness 0 of 4 is below its bar of 0.9" in page


@pytest.mark.parametrize("text", [text for text in NASTY if text.strip()])
def test_text_from_outside_ends_no_element_and_begins_none(text: str) -> None:
    plain, _ = written(source([verdict(TRIALS[0].key, False, "plain")]))
    nasty, _ = written(source([verdict(TRIALS[0].key, False, text)]))
    tags = re.compile(r"<(/?[a-zA-Z!][a-zA-Z-]*)")
    assert tags.findall(nasty) == tags.findall(plain)
    assert nasty.split('id="index"')[0].count("\u202e") == 0


def test_the_index_has_a_row_for_every_planned_trial_in_the_order_of_the_plan() -> None:
    page, said = written(source(TRIALS[:-1], plan=plan_of(TRIALS)))
    index = index_of(page)
    names = [f"{index['agents'][row[0]]}/{index['scenarios'][row[1]][0]}/{row[2]}" for row in index["rows"]]
    assert names == [str(trial.key) for trial in TRIALS]
    assert [index["marks"][row[3]] for row in index["rows"]] == ["pass"] * 4 + ["fail"] * 3 + ["missing"]
    assert said.trials == 7


def test_every_transcript_is_where_the_index_says() -> None:
    page, said = written(source(TRIALS))
    blocks = list(unpacked(page.encode()))
    for row, trial in zip(index_of(page)["rows"], TRIALS, strict=True):
        record = blocks[row[7]][row[8]]
        assert record["v"]["key"] == msgspec.to_builtins(trial.key)
        assert [event[3] for event in record["e"]] == [event.kind for event in transcript()]
    assert said.left_out == 0
    assert said.size == len(page.encode())


def test_where_not_all_fit_those_that_did_not_pass_stay_and_the_page_says_so() -> None:
    page, said = written(source(TRIALS), limit=1)
    rows = index_of(page)["rows"]
    assert {row[7] >= 0 for row in rows[:4]} == {False}
    assert said.left_out == 4
    assert "The transcripts of 4 trials are not in this file" in page


def test_memory_does_not_grow_with_transcripts() -> None:
    """Two hundred transcripts of 8 MB each come by one event at a time."""

    def long(key: TrialKey) -> Iterator[Event]:
        for line in range(1, 9):
            yield Event("note", "reported", line, {"level": "info", "text": f"{key} {line} " * 50_000}, line)

    page = source([verdict(TrialKey("desk", "s", n), False) for n in range(1, 201)], long)
    tracemalloc.start()
    try:
        text, said = written(page)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said.trials == 200
    assert peak < 40_000_000 + 3 * len(text)


def test_a_judges_votes_and_quotes_are_in_the_page() -> None:
    one = CriterionVerdict("is polite", False, yes=1, no=2, quote="go away", line=16, reason="rude")
    judged = Judgement("judge-1", "p1", 3, 0.66, (one,), calls=3, input_tokens=90, output_tokens=9)
    check = CheckVerdict("judge", Status.FAIL, Severity.MAJOR, Property.CORRECTNESS, "no", (16,), judged=judged)
    page, _ = written(source([verdict(TRIALS[0].key, False, checks=(check,))]))
    assert "is polite" in page
    assert "66%" in page
    (record,) = next(unpacked(page.encode()))
    assert record["v"]["checks"][0]["judged"]["criteria"][0]["quote"] == "go away"


def test_friction_and_inconclusive_trials_are_kept_apart_from_quality() -> None:
    apart = [
        verdict(TrialKey("desk", "s", 1)),
        verdict(TrialKey("desk", "s", 2), False, counts=False, blame="integration", end="startup_failed", checks=()),
        verdict(TrialKey("desk", "s", 3), False, counts=False, blame="harness", end="engine_error", checks=()),
    ]
    page, _ = written(source(apart))
    section = page.split('id="friction"', 1)[1].split("</section>", 1)[0]
    assert "startup_failed" in section
    assert "engine_error" in section
    assert "not counted" not in page.split('id="properties"', 1)[1].split("</section>", 1)[0]
    assert '<td class="num" data-label="n">1/1</td>' in page


def test_agents_beside_each_other_are_told_how_they_fit_inert_and_with_a_link_to_what_shows_it() -> None:
    sign = Sign(SignKind.NETWORK, "<b>10.0.0.1", 3)
    page, _ = written(source([verdict(TrialKey("desk", "s", 1), signs=(sign,)), verdict(TrialKey("shop", "s", 1))]))
    section = page.split('id="matrix"', 1)[1].split("</section>", 1)[0]
    assert "quarantined" in section
    assert "native" in section
    assert "tried to reach &lt;b&gt;10.0.0.1" in section
    assert 'href="#trial=desk/s/1">desk/s/1, line 3</a>' in section


@pytest.mark.parametrize("state", ["running", "interrupted"])
def test_a_run_that_is_not_over_says_so(state: str) -> None:
    page, _ = written(source(TRIALS, state=state, ended=""))
    assert f"This run is {state}" in page


def test_nothing_ran_at_all_is_a_page_too() -> None:
    page, said = written(source([], plan=plan_of(TRIALS)))
    assert said.trials == 0
    assert "NO VERDICT" in page
    assert f"exit {int(ExitCode.NO_VERDICT)}" in page

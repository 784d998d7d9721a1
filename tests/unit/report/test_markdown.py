"""The Markdown summary through a real renderer: what it says, and that text from an agent is only ever text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from markdown_it.token import Token

from harness.domain.verdict import (
    AgentUse,
    CheckVerdict,
    ExitCode,
    JudgeUse,
    Property,
    PropertyRate,
    RunVerdict,
    Status,
    Unrated,
)
from harness.report.markdown import MAX_LINES, MAX_SCENARIOS, markdown, write_markdown
from harness.report.terminal import one_line
from harness.report.view import MAX_FAILURES, RunView, build_view
from tests.unit.report.trials import ANY_TEXT, EVERY_RESULT, FAMILIES, GOOD, MAJOR, NASTY, check, hostile, judged, trial

INERT = {
    "h2", "h3", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "strong", "code",
}  # fmt: skip
"""Elements that the summary itself is made of: none of them does anything."""


def run_of(text: str, code: ExitCode = ExitCode.BAR_MISSED, agent: str = "") -> RunVerdict:
    name = agent or text
    return RunVerdict(
        rates=(PropertyRate(name, Property.SAFETY, 1, 2, 0.5, 0.1, 0.9, 1.0, False, 1, 2),),
        trials=3,
        scored=1,
        passed=0,
        friction=1,
        inconclusive=1,
        missing=0,
        not_scored=0,
        exit_code=code,
        reasons=(text,) * 3,
        use=(AgentUse(name, 1, 1000.0, 2000, 3, 4, 0.00001, True), AgentUse(name, 1, 1.0, 2, 3, 4, 0.0, False)),
        judge=JudgeUse(1, 2, 3, 4, 0.0, False),
        unrated=(Unrated(name, Property.GROUNDING, 1, 0),),
    )


def view_of(text: str) -> RunView:
    families = {text: text, "s": "other"}
    return build_view(text, text, run_of(text), [*hostile(text), *EVERY_RESULT], families)


def alone(text: str) -> RunView:
    """Nothing in it is sorted beside a name of another kind, so that its shape does not depend on `text`."""
    good = trial(GOOD, agent=text, scenario=f"{text}x")
    return build_view(text, text, run_of(text), [*hostile(text), good], {text: text, f"{text}x": f"{text}x"})


def tokens(text: str) -> list[Token]:
    """Every token, with HTML and bare addresses let through, as the laxest of renderers would."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return [token for block in renderer.parse(text) for token in (block, *(block.children or ()))]


class Tags(HTMLParser):
    """The tags of a page, and its text outside `code`."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.outside: list[str] = []
        self.in_code = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.in_code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        if not self.in_code:
            self.outside.append(data)


def rendered(text: str) -> Tags:
    return Tags(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_becomes_code_and_nothing_else(text: str) -> None:
    page = rendered(markdown(view_of(text)))
    assert page.tags <= INERT
    outside = "".join(page.outside)
    # what a site looks for in the text around: mentions, references, addresses, HTML, formulas, emoji
    assert not any(sign in outside for sign in ("@", "#", "$", "`", "\\", "](", "<!"))
    assert not any(word in outside for word in ("http", "www", "evil", "alert", ":smile:", "GH-1"))


@given(ANY_TEXT)
def test_any_text_leaves_the_shape_of_the_page_as_it_is(text: str) -> None:
    came = tokens(markdown(alone(text)))
    if one_line(text).strip():  # nothing at all is said in words, not in code
        assert [token.type for token in came] == [token.type for token in tokens(markdown(alone("plain")))]
    assert {token.type for token in came} & {"html_inline", "html_block", "link_open", "image", "fence"} == set()


@given(ANY_TEXT)
def test_any_text_is_shown_as_it_is_seen_on_a_terminal(text: str) -> None:
    seen = {token.content for token in tokens(markdown(view_of(text))) if token.type == "code_inline"}
    shown = one_line(text, 300)
    if shown.strip() and len(shown) <= 300:
        assert shown in seen


def test_the_verdict_stands_first_and_why_after_it() -> None:
    lines = markdown(build_view("r-1", "core 1.0.0", run_of("too low", agent="a"), EVERY_RESULT, FAMILIES)).splitlines()
    assert lines[0] == "## ❌ FAIL: a bar is missed, or a critical check failed"
    assert lines[2] == "Run `r-1`, pack `core 1.0.0`, exit 1."
    assert lines[6] == "- `too low`"
    assert markdown(build_view("r", "p", run_of("x", ExitCode.OK), [])).startswith("## ✅ PASS: every bar is met\n")


def test_what_is_not_scored_and_not_applicable_is_told_apart_from_pass_and_fail() -> None:
    text = markdown(build_view("r", "p", run_of("x", agent="a"), EVERY_RESULT))
    assert "| `a` | safety | 50% | [10%–90%] | 100% | 2 | **MISSED** |" in text
    assert "- `a: not scored (never a pass): safety 1 of 5, grounding 1 of 1 trials`" in text
    assert "- `a: not applicable (not counted): safety 2 of 5 trials`" in text
    assert "- `s` by `a`: 4 of 7 trials failed, 1 not scored" in text
    assert "`quality` (major, correctness) not scored in 2 trials: `no judge was asked`" in text


def test_friction_stands_apart_from_quality() -> None:
    _, after = markdown(build_view("r", "p", run_of("x"), EVERY_RESULT)).split("### Friction\n")
    friction, lost = after.split("### Inconclusive\n")
    assert "- 1 × `startup_failed` of `a`, blame `integration`: `` no `ready` ``" in friction
    assert "- 2 × `engine_error` of `a`, blame `harness`: `the engine did not answer`" in lost


def test_an_unknown_cost_is_never_nothing() -> None:
    text = markdown(build_view("r", "p", run_of("x", agent="a"), []))
    assert "| `a` | 1 | 1.00 | 2.00 | 3 | 4 | &lt;0.0001 USD |" in text
    assert "| `a` | 1 | 0.00 | 0.00 | 3 | 4 | unknown |" in text
    assert "1 call, 2 cached, 3 tokens in, 4 out, cost unknown" in text


def test_unmet_criteria_are_listed_with_votes_agreement_and_quote() -> None:
    bad = judged_check("quotes | the source")
    text = markdown(build_view("r", "p", run_of("x"), [trial(bad)]))
    assert "    - not met (1 yes, 2 no): `quotes | the source`, quote `quotes | the source`\n" in text
    assert "    - judge `quotes | the source`, agreement 66.6%\n" in text


def judged_check(text: str) -> CheckVerdict:
    return msgspec.structs.replace(check("synthesis", Status.FAIL), judged=judged(text))


@pytest.mark.parametrize("long", ["\u202e", "\U0001f600", "x`"])
def test_the_page_is_bounded_and_says_what_it_leaves_out(long: str) -> None:
    text = long * 5000
    many = (
        trial(*(msgspec.structs.replace(judged_check(text), check=f"c{i}{text}") for i in range(9)), scenario=f"s{n}")
        for n in range(MAX_FAILURES + 50)
    )
    run = run_of(text)
    run = msgspec.structs.replace(run, reasons=(text,) * 500, rates=run.rates * 500, use=run.use * 250)
    page = markdown(build_view("r", "p", run, many))
    assert len(page.encode()) < 1 << 20
    shown = page.count(" trials failed")
    assert 5 < shown <= MAX_SCENARIOS
    assert f"\n- and {MAX_FAILURES + 50 - shown} more scenarios\n" in page
    assert f"\n- and {500 - MAX_LINES} more reasons\n" in page
    assert "\n  - and 4 more checks\n" in page


def test_a_run_of_nothing_renders() -> None:
    empty = RunVerdict((), 0, 0, 0, 0, 0, 0, 0, ExitCode.NO_VERDICT, ("nothing ran",))
    text = markdown(build_view("r", "p", empty, []))
    assert text.startswith("## ❌ NO VERDICT: too little was scored to say yes or no\n")
    assert "###" not in text


def test_a_file_is_written(tmp_path: Path) -> None:
    shown = build_view("r", "p", run_of("x"), [trial(MAJOR)])
    write_markdown(tmp_path / "summary.md", shown)
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == markdown(shown)

"""Text from agents in every place of the page, in a real browser: it is shown, and nothing of it happens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from harness.domain.ids import TrialKey
from harness.domain.verdict import CheckVerdict, CriterionVerdict, Judgement, Property, Severity, Status, TrialVerdict
from harness.report.html.page import PageSource
from tests.browser.conftest import Opener
from tests.unit.report.pages import filled, source, transcript, verdict

pytestmark = pytest.mark.xdist_group("browser")
ATTACKS = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script><!-- <script>",
    "--><img src=x onerror=alert(3)><svg onload=alert(4)>",
    "javascript:alert(5)",
    '" onmouseover="alert(6)" autofocus onfocus=\'alert(7)\' x="',
    "</title></style></textarea></noscript><iframe src=https://evil.example/></iframe>",
    "<link rel=stylesheet href=https://evil.example/x.css><style>*{display:none!important}@import 'https://e.example'",
    "<meta http-equiv=refresh content='0;url=https://evil.example'><base href=https://evil.example/>",
    "<a href=javascript:alert(8)>x</a><form action=https://evil.example><button formaction=javascript:alert(9)>",
    "{{7*7}}{% raw %}${alert(10)}`&lt;script&gt;&#x6a;avascript&colon;",
    "\u202egnp.exe\u2066\u200b\u2028\u2029\x00\x1b]0;owned\x07\x9b2J\ufeff",
    "__proto__",
)
ALL = "\n".join(ATTACKS)
AGENT, SCENARIO = '"><img src=x onerror=alert(11)>', "'><svg/onload=alert(12)>&line=1#pair="
KEY = TrialKey(AGENT, SCENARIO, 1)


def hostile(text: str, key: TrialKey = KEY) -> TrialVerdict:
    one = CriterionVerdict(text, None, yes=1, quote=text, line=3, reason=text)
    judged = Judgement(text, text, 3, 0.5, (one,))
    checks = (
        CheckVerdict(text, Status.FAIL, Severity.CRITICAL, Property.SAFETY, text, (1, 2), judged=judged),
        CheckVerdict(text, Status.NOT_SCORED, Severity.MINOR, Property.POLICY, text),
    )
    return verdict(key, False, text, end=text, reason=text, checks=checks, tools=(text,))


def everywhere(text: str) -> PageSource:
    """`text` as every string of the transcript, of its verdict, and of how others ended."""
    apart = [
        verdict(TrialKey(AGENT, SCENARIO, n), False, end=text, reason=text, counts=False, blame=blame, checks=())
        for n, blame in ((2, "integration"), (3, "harness"))
    ]
    return source([hostile(text), *apart], lambda key: transcript(filled(text)))


def look_at_everything(page: Page) -> None:
    """Open what folds, show what is cut, point at what listens."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.evaluate("document.querySelectorAll('.unfold').forEach((each) => each.click())")
    page.evaluate(
        "document.querySelectorAll('*').forEach((each) => { for (const kind of ['mouseover', 'focus', 'error', 'load'])"
        " each.dispatchEvent(new Event(kind)); })"
    )
    page.wait_for_timeout(150)


WATCHED = "script, style, link, base, meta[http-equiv], iframe, object, embed, img, form, a, use, input, [src], [style]"
FOREIGN = """(watched) => [...document.querySelectorAll(watched)].map((each) => each.tagName.toLowerCase() + " " +
  (each.getAttribute("href") || each.id || each.method || each.httpEquiv || "").slice(0, 5))"""
OURS = {"script ", "script index", "script c0", "style ", "meta Conte", "form dialo", "input searc", "input deep"}


@pytest.mark.parametrize("text", [ALL, ATTACKS[1], ATTACKS[2]], ids=["all of it", "script ends", "comment ends"])
def test_nothing_runs_and_nothing_is_asked_for(opened: Opener, text: str) -> None:
    watched = opened(everywhere(text))
    page = watched.page
    look_at_everything(page)
    page.evaluate("document.querySelector('#trials-body a.row').click()")
    page.wait_for_selector(".talk .event")
    look_at_everything(page)
    assert page.locator(".talk .event").count() == len(transcript())
    shown = page.locator(".talk").inner_text()
    for attack in (line for line in text.split("\n") if line.isascii() and "\x00" not in line):
        assert attack in shown
    kinds = set(page.evaluate(FOREIGN, WATCHED))
    assert {kind for kind in kinds if kind.split(" ")[1][:1] != "#"} <= OURS
    assert watched.ran() == []


def test_what_hides_or_reorders_text_is_shown_by_its_number(opened: Opener) -> None:
    watched = opened(everywhere(ATTACKS[10]))
    page = watched.page
    assert "\u202e" not in page.locator("#verdict").inner_text()
    page.evaluate("document.querySelector('#trials-body a.row').click()")
    page.wait_for_selector(".talk .event")
    look_at_everything(page)
    shown = page.locator("body").inner_text()
    assert not set(shown) & set("\u202e\u2066\u200b\u2028\x1b\x07\x9b\ufeff")
    assert {"U+202E", "U+001B", "U+2066"} <= set(page.locator(".talk .odd").all_inner_texts())
    assert watched.ran() == []


def test_a_text_of_megabytes_is_cut_says_so_and_stays_inert(opened: Opener) -> None:
    huge = "<script>alert(1)</script>\u202e" * 100_000
    watched = opened(source([hostile("short")], lambda key: transcript(filled(huge))), f"#trial={AGENT}/x/1")
    page = watched.page
    page.evaluate("document.querySelector('#trials-body a.row').click()")
    page.wait_for_selector(".talk .event")
    look_at_everything(page)
    assert page.locator(".cut-note").count() > 10
    assert "more characters; fumehood runs show" in page.locator(".notice").inner_text()
    assert page.evaluate("document.querySelectorAll('*').length") < 40_000
    assert watched.ran() == []


def test_the_policy_holds_even_where_markup_would_get_in(opened: Opener) -> None:
    """The second wall: were text ever parsed as markup, the browser would refuse it."""
    page = opened(everywhere("x")).page
    refused = "(act) => { try { act(); return 'done'; } catch (error) { return error.name; } }"
    for act in (
        "() => { document.body.innerHTML = '<b>x</b>'; }",
        "() => { document.createElement('p').setAttribute('onclick', 'alert(1)'); }",
        "() => { document.createElement('script').text = 'alert(2)'; }",
    ):
        assert page.evaluate(f"({refused})({act})") == "TypeError"
    page.evaluate("() => { document.createElement('img').src = 'https://evil.example/x.png'; }")
    page.wait_for_timeout(150)
    noticed = page.evaluate("window.__ran")
    assert "alert" not in noticed
    assert "policy img-src" in noticed

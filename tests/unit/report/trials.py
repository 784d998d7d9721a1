"""Verdicts for the tests of what is written for other programs: every result there is, and text of the worst kind."""

from __future__ import annotations

from hypothesis import strategies as st

from harness.domain.ids import TrialKey
from harness.domain.outcome import Usage
from harness.domain.verdict import CheckVerdict, CriterionVerdict, Judgement, Property, Severity, Status, TrialVerdict

FAMILIES = {"s": "family"}
NASTY = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/x.png)",
    "[click](javascript:alert(1)) [ref] [ref]: http://evil.example",
    "http://evil.example www.evil.example a@evil.example <http://evil.example>",
    "@maintainer #1 GH-1 owner/repo#2 0123456789abcdef0123456789abcdef01234567",
    "` `` ``` ```` </code> `",
    "``",
    "`",
    " `x` ",
    "a | b \\| c \\\\| d\n| - |\n| x |",
    "\r\n\r\n# Title\n\n- item\n\n```\nfence\n~~~\n---\n===\n> quote\n    code\n1. one",
    "]]></failure><testcase name='x'/><!-- --><![CDATA[ &amp; &#0; &lt; &nope;",
    "\x00\x01\x08\x0b\x0c\x0e\x1b[2J\x7f\x85\x9b\u2028\u202e\u200b\ufeff\ufffe\uffff\ud800\udfff\U0001ffff\U0010ffff\U000e0041",
    "=1+1",
    "\t=cmd|' /C calc'!A0",
    "$x$ $`y`$ :smile: <!-- \u00e9\U0001f600",
    "",
    "   ",
)
"""What an agent may say, and a name may be."""

ANY_TEXT = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(codec=None), max_size=60),
    st.lists(st.sampled_from([*"`|\\<>[]()!@&*_~#=+-'\" \n\t", "x", "http://x.example", "\x00"]), max_size=12).map(
        "".join
    ),
)
"""Any characters at all, lone surrogates among them, and much of what means something to a reader."""


def check(name: str, status: Status, severity: Severity = Severity.MAJOR, reason: str = "why") -> CheckVerdict:
    return CheckVerdict(name, status, severity, Property.CORRECTNESS, reason, (3, 7))


def trial(
    *checks: CheckVerdict, n: int = 1, end: str = "completed", blame: str = "agent",
    agent: str = "a", scenario: str = "s", reason: str = "it ended",
) -> TrialVerdict:  # fmt: skip
    counts = blame == "agent"
    bad = any(c.status in (Status.FAIL, Status.NOT_SCORED) and c.severity is not Severity.MINOR for c in checks)
    key = TrialKey(agent, scenario, n)
    passed = counts and end == "completed" and not bad
    return TrialVerdict(key, 1, end, blame, reason, counts, passed, checks, Usage(wall_ms=1500, tokens=12))


def judged(text: str, met: bool | None = False) -> Judgement:
    return Judgement(text, "1", 3, 2 / 3, (CriterionVerdict(text, met, yes=1, no=2, quote=text, line=4, reason=text),))


GOOD = check("exact", Status.PASS)
OFF = check("tool_called", Status.NOT_APPLICABLE)
MAJOR = check("regex", Status.FAIL, reason="no match")
CRITICAL = check("no_leak", Status.FAIL, Severity.CRITICAL, "leaked")
MINOR = check("tone", Status.FAIL, Severity.MINOR, "rude")
OPEN = check("quality", Status.NOT_SCORED, reason="no judge was asked")

EVERY_RESULT = (
    trial(GOOD, OFF, n=1),
    trial(GOOD, MINOR, n=2),
    trial(MAJOR, CRITICAL, GOOD, n=3),
    trial(GOOD, OPEN, n=4),
    trial(MAJOR, OPEN, n=5),
    trial(n=6, end="startup_failed", blame="integration", reason="no `ready`"),
    trial(n=7, end="engine_error", blame="harness", reason="the engine did not answer"),
    trial(CRITICAL, n=8, end="engine_error", blame="harness", reason="the engine did not answer"),
    trial(n=9, end="crashed", reason="signal 11"),
)
"""Pass, minor failure, two failures, not scored, failed and not scored, friction, inconclusive, breach in a lost trial,
and a trial that failed though no check says so."""


def hostile(text: str) -> list[TrialVerdict]:
    """Trials in which everything that is text is `text`."""
    bad = CheckVerdict(
        text, Status.FAIL, Severity.MAJOR, Property.CORRECTNESS, text, (1,), 0.5, 1.0, judged=judged(text)
    )
    open_ = CheckVerdict(text, Status.NOT_SCORED, Severity.MINOR, Property.GROUNDING, text)
    named = {"agent": text, "scenario": text, "reason": text}
    return [
        trial(bad, open_, n=1, **named),
        trial(n=2, end=text, blame=text, **named),
        trial(n=3, end=text, blame="integration", **named),
    ]

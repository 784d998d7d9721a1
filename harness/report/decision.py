"""A release decision: one short document that says what changed, what it is worth, and who must look at what."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from harness.domain.comparison import AGAINST, Comparison, Gate, Pair, PairKind
from harness.domain.verdict import ExitCode, Severity, worst
from harness.report.markdown_text import bounded, cell, code, plain, table
from harness.report.view import RunView
from harness.report.words import counts, gravity, interval, out_of_n, percent

MAX_LINES = 20
"""Of each list; the rest is counted."""
_WORSE = (PairKind.REGRESSED, PairKind.NEW_FAILURE)


class Decided(Struct, frozen=True):
    """What a decision rests on. `seal`: sha256 of the run's manifest, empty where it has none."""

    view: RunView
    agents: tuple[tuple[str, str], ...]
    seal: str
    comparison: Comparison | None = None
    gate: Gate | None = None


def decision(found: Decided) -> str:
    """The document, as Markdown; text that is not ours stands in code spans."""
    sections = [
        ["# Release decision"],
        list(_head(found)),
        ["## What changed"],
        list(_changed(found.comparison)),
        ["## Regressions by severity"],
        list(_regressions(found)),
        ["## Drift"],
        list(_drift(found.comparison)),
        ["## What was not judged"],
        list(_unjudged(found)),
        ["## Noise floor"],
        list(_noise(found.comparison)),
        ["## Who must look"],
        list(_people(found)),
        ["## Decision"],
        ["- [ ] release", "- [ ] do not release", "", "Name, date, reason:"],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _code(found: Decided) -> ExitCode:
    """Of the run; of the gate where that weighs more. A stored run knows nothing of a base it is held against later."""
    reasons = found.gate.reasons if found.gate is not None else ()
    return worst((found.view.verdict.exit_code, *(reason.code for reason in reasons)))


_ADVICE = {
    ExitCode.OK: "**Nothing found that speaks against a release.**",
    ExitCode.BAR_MISSED: "**Do not release**: a bar is missed.",
    ExitCode.NOT_JUDGED: "**No decision can rest on this**: not everything was judged.",
    ExitCode.SAFETY: "**Do not release**: a safety rule was broken.",
    ExitCode.REGRESSION: "**Do not release**: worse than the baseline.",
    ExitCode.NO_VERDICT: "**No decision can rest on this**: the run carries no verdict.",
}


def _head(found: Decided) -> Iterator[str]:
    view, exit_code = found.view, _code(found)
    yield f"{_ADVICE[exit_code]} (exit {int(exit_code)})"
    yield ""
    yield f"- run {code(view.run_id)}, pack {code(view.pack)}: {counts(view.verdict, view.unscored)}"
    for name, digest in found.agents:
        yield f"- agent {code(name)}, image {code(digest or 'unknown')}"
    yield f"- sealed as {code(found.seal)}" if found.seal else "- the run is not sealed: its evidence cannot be checked"
    reasons = [reason.text for reason in found.gate.reasons] if found.gate is not None else []
    lines = [f"- why: {code(reason)}" for reason in (*_own_reasons(found), *reasons)]
    yield from bounded(lines, MAX_LINES, "- and {} more reasons")


def _own_reasons(found: Decided) -> Iterator[str]:
    """The run's, without those its own gate took from the very comparison whose reasons are told beside them."""
    told = set()
    if found.comparison is not None and found.gate is not None:
        told = {f"{AGAINST}{found.comparison.base.name}: {reason.text}" for reason in found.gate.reasons}
    yield from (reason for reason in found.view.verdict.reasons if reason not in told)


def _changed(comparison: Comparison | None) -> Iterator[str]:
    if comparison is None:
        yield "Nothing to compare with: no base was named (`--against BASE`)."
        return
    base = comparison.base
    yield f"Against {code(base.name)} (trust {base.trust or 'none: a run'}, run {code(base.run_id)})."
    if base.accepted:
        yield f"**The base was saved in spite of doubts**: {code(base.accepted)}."
    yield ""
    rows = [(plain(one.what), cell(one.base), cell(one.candidate)) for one in comparison.differences]
    tables = list(table(("what", "base", "candidate"), rows))
    yield from (line for lines in tables for line in lines)
    if not rows:
        yield "Pack, images, models, policy and harness are the same on both sides."
    yield from ("", *(f"- {code(note)}" for note in comparison.notes))


def _regressions(found: Decided) -> Iterator[str]:
    comparison = found.comparison
    if comparison is None:
        yield "Not known without a base. What fails in this run:"
        lines = [
            f"- {code(one.agent)}/{code(one.scenario)}: {one.failed} of {one.trials}" for one in found.view.failures
        ]
        yield from ("", *bounded(lines, MAX_LINES, "- and {} more"))
        if not lines:
            yield "Nothing."
        return
    for severity in Severity:
        lines = list(_of_severity(comparison, severity))
        yield f"- **{severity}**: {len(lines) or 'none'}"
        yield from bounded([f"  - {line}" for line in lines], MAX_LINES, "  - and {} more")


def _of_severity(comparison: Comparison, severity: Severity) -> Iterator[str]:
    """Trials whose gravest new failure is of this severity."""
    criticals = {one.trial for one in comparison.critical}
    for pair in comparison.pairs:
        gravest = Severity.CRITICAL if pair.key in criticals else _gravest(pair)
        if gravest is severity:
            checks = ", ".join(code(change.check) for change in pair.worse[:5])
            kind = pair.kind.value.replace("_", " ")
            yield f"{code(str(pair.key))}: {kind}{', ' + checks if checks else ''}"


def _gravest(pair: Pair) -> Severity | None:
    """A trial that is worse without a check that says so failed by its end: major."""
    found = [change.severity for change in pair.worse]
    if found:
        return min(found, key=gravity)
    return Severity.MAJOR if pair.kind in _WORSE else None


def _drift(comparison: Comparison | None) -> Iterator[str]:
    if comparison is None:
        yield "Not known without a base."
        return
    if comparison.base.trust != "golden":
        yield "The base is no golden baseline: small losses that add up over releases are not seen.\n"
    rows = [
        (cell(one.agent), one.metric, f"{one.base:.4g}", f"{one.candidate:.4g}",
         "from 0" if one.change is None else f"{one.change:+.1%}", one.drift)
        for one in comparison.deltas if one.drift != "none"
    ]  # fmt: skip
    for lines in table(("agent", "median of", "base:", "now:", "change:", "drift"), rows):
        yield from lines
    if not rows:
        yield f"No median moved by more than {percent(comparison.drift)}."


def _unjudged(found: Decided) -> Iterator[str]:
    view, lines = found.view, []
    lines += [f"- {code(line)}" for line in out_of_n(view.verdict)]
    if view.verdict.missing:
        lines.append(f"- {view.verdict.missing} planned trials were never run")
    for name, ends in (("friction", view.friction), ("inconclusive", view.inconclusive)):
        lines += [
            f"- {end.count} trials {name}: {code(end.end)} of {code(end.agent)}, blame {code(end.blame)}"
            for end in ends
        ]
    if found.comparison is not None:
        apart = sum(pair.kind is PairKind.NOT_COMPARED for pair in found.comparison.pairs)
        gone = sum(pair.kind is PairKind.MISSING for pair in found.comparison.pairs)
        lines += [f"- {apart} trials cannot be compared with the base"] * bool(apart)
        lines += [f"- {gone} trials of the base were not run"] * bool(gone)
    yield from bounded(lines, MAX_LINES, "- and {} more") or ["Everything that was to be judged was."]


def _noise(comparison: Comparison | None) -> Iterator[str]:
    floor = comparison.noise if comparison is not None else None
    if comparison is None or floor is None:
        yield "Not measured: `fumehood noise PACK --agent A` does. Without it a flip may be chance."
        return
    flips = sum(pair.flipped for pair in comparison.pairs)
    compared = sum(pair.comparable for pair in comparison.pairs)
    between = interval(floor.low, floor.high)
    yield f"{flips} of {compared} compared trials flipped. With nothing changed, {floor.flips} of {floor.pairs} did: "
    yield f"{percent(floor.rate)} {between}."


def _people(found: Decided) -> Iterator[str]:
    """Whoever is to blame, or owns what is not known."""
    exit_code, view = _code(found), found.view
    blames = {end.blame for end in view.inconclusive}
    worse = found.gate is not None and any(reason.code is ExitCode.REGRESSION for reason in found.gate.reasons)
    rows: list[tuple[bool, str]] = [
        (exit_code is ExitCode.SAFETY, "**safety**: a critical safety check failed; nobody else can waive it"),
        (worse or bool(view.failures), "**the agent's owner**: the regressions above, and what fails in the report"),
        (bool(view.friction), "**whoever integrates the agent**: the friction above says nothing of its quality"),
        ("pack" in blames, "**the pack's author**: the pack itself broke"),
        ("upstream" in blames, "**whoever runs the model or the judge**: it did not answer"),
        ("harness" in blames, "**whoever runs Fumehood**: engine or harness broke"),
        (bool(view.verdict.not_scored), "**a person who judges**: what no rule and no judge could say"),
    ]
    lines = [f"- {text}" for true, text in rows if true]
    yield from lines or ["- whoever signs: nothing else asks for a person"]

"""A comparison on a terminal or in a log, and as plain JSON: what differs first, what blocks last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec
from rich.console import Console

from harness.domain.comparison import (
    CheckChange,
    Comparison,
    Delta,
    Gate,
    Group,
    NoiseFloor,
    Pair,
    PairKind,
    Rerun,
    ToolChange,
)
from harness.domain.record import Header
from harness.domain.verdict import ExitCode
from harness.report.page import Page
from harness.report.view import inert
from harness.report.words import interval, percent

SHOWN = 40
"""Scenarios, tool changes and groups listed of a kind where not all are asked for; the rest are counted."""
_VALUE = 24
_LISTED = {
    PairKind.REGRESSED: "Regressed",
    PairKind.NEW_FAILURE: "New failures (no such trial in the base)",
    PairKind.FAILED_DIFFERENTLY: "Failed differently",
    PairKind.IMPROVED: "Improved",
    PairKind.NEW_PASS: "New passes",
    PairKind.MISSING: "Missing (in the base only)",
    PairKind.NOT_COMPARED: "Not compared (friction, inconclusive or not judged on a side; never a regression)",
    PairKind.UNCHANGED: "Unchanged",
}
_BRIEF = (PairKind.NEW_PASS, PairKind.UNCHANGED)
"""Listed only where everything is asked for."""
_TITLES = {"property": "Properties", "family": "Families", "bucket": "Buckets", "scenario": "Scenarios"}
_UNITS = {"latency_ms": "ms", "cost_usd": "USD", "tokens": "", "steps": ""}


def render_comparison(comparison: Comparison, gate: Gate, console: Console, everything: bool, gated: bool) -> None:
    """Prints all of it. `everything`: unchanged trials too, and no list cut short. `gated`: the exit code counts."""
    page = Page(console)
    most = 1 << 30 if everything else SHOWN
    page.line(f"Base: {_side(comparison.base)}", "bold")
    page.line(f"Candidate: {_side(comparison.candidate)}", "bold")
    _differences(page, comparison)
    _totals(page, comparison)
    if gate.critical:
        page.line()
        page.line("Critical regressions (one is enough)", "bold red")
        for one in gate.critical[:most]:
            page.line(f"{one.trial}: {one.check} ({one.property}); in the base: {one.base}", indent=2)
    _scenarios(page, comparison.pairs, most, everything)
    _groups(page, comparison.groups, everything)
    _deltas(page, comparison)
    _tools(page, comparison.tools, most)
    _verdict(page, gate, gated)


def comparison_json(comparison: Comparison, gate: Gate, everything: bool) -> dict[str, Any]:
    """The comparison as plain JSON values, every string inert on a terminal.

    `pairs` holds the trials that changed or could not be compared; all of them only with `everything`.
    """
    plain: dict[str, Any] = msgspec.to_builtins(comparison)
    kept = [pair for pair in comparison.pairs if everything or pair.kind is not PairKind.UNCHANGED]
    plain["pairs"] = [{**msgspec.to_builtins(pair), "key": str(pair.key)} for pair in kept]
    plain["counts"] = dict(Counter(pair.kind.value for pair in comparison.pairs))
    plain["gate"] = {**msgspec.to_builtins(gate), "exit_code": int(gate.exit_code)}
    for group, row in zip(comparison.groups, plain["groups"], strict=True):
        row["base"] = _rate(group.before, group.test.n, group.test.before)
        row["candidate"] = _rate(group.after, group.test.n, group.test.after)
    found: dict[str, Any] = inert(plain)
    return found


def _rate(passes: int, n: int, bounds: tuple[float, float]) -> dict[str, Any]:
    rate = passes / n if n else None
    return {"passes": passes, "n": n, "rate": rate, "low": bounds[0], "high": bounds[1]}


def _side(header: Header) -> str:
    what = f"run {header.name}" if header.trust is None else f"baseline {header.name} ({header.trust})"
    of = "" if header.trust is None else f", of run {header.run_id}"
    return f"{what}: pack {header.pack.name} {header.pack.version}{of}, {header.created}"


def _differences(page: Page, comparison: Comparison) -> None:
    if comparison.differences:
        rows = [(d.what, _cut(d.base), _cut(d.candidate)) for d in comparison.differences]
        page.table("Not the same on both sides", ("what", "base", "candidate"), rows, right=())
    else:
        page.line("Pack, images, model, policy, limits, judge, seed and harness version are the same on both sides.")
    if comparison.notes:
        page.line()
        _list(page, comparison.notes)


def _list(page: Page, lines: Iterable[str]) -> None:
    """In full: a reason somebody accepted, or the name of what regressed, must not be cut."""
    page.bullets(lines, None)


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 3]}..."


def _totals(page: Page, comparison: Comparison) -> None:
    page.line()
    for group in comparison.groups:
        if group.kind != "pack":
            continue
        counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in group.counts.items())
        page.line(f"{group.agent}: {counts}", "bold")
        before = f"{group.before} of {group.test.n} {interval(*group.test.before, page.dash)}"
        after = f"{group.after} of {group.test.n} {interval(*group.test.after, page.dash)}"
        page.line(f"passed: {before} before, {after} after", indent=2)
        page.line(f"{_flips(group, comparison.noise, page.dash)}{group.reading}", indent=2)


def render_reruns(reruns: Sequence[Rerun], console: Console) -> None:
    """What running the flipped scenarios again says of each flip; nothing where none was."""
    if not reruns:
        return
    page = Page(console)
    page.line()
    page.line(f"Flipped scenarios, run again (run {reruns[0].run_id}; the gate is not softened by it)", "bold")
    for one in reruns:
        style = "bold red" if one.word == "real" and one.kind is PairKind.REGRESSED else ""
        page.line(
            f"{one.agent}/{one.scenario}: {one.kind}, {one.word}: {one.passes} of {one.n} passed", style, indent=2
        )


def rerun_json(rerun: Rerun) -> dict[str, Any]:
    """Plain JSON, inert, with its word."""
    found: dict[str, Any] = inert({**msgspec.to_builtins(rerun), "word": rerun.word})
    return found


def _flips(group: Group, noise: NoiseFloor | None, dash: str) -> str:
    if noise is None:
        return ""
    flips, n = group.test.discordant, group.test.n
    share = percent(flips / n) if n else "none"
    floor = f"{percent(noise.rate)} {interval(noise.low, noise.high, dash)} of {noise.pairs}"
    return f"flips: {share} ({flips} of {n}); noise floor, with nothing changed: {floor}; "


def _scenarios(page: Page, pairs: Sequence[Pair], most: int, everything: bool) -> None:
    for kind, title in _LISTED.items():
        found = [pair for pair in pairs if pair.kind is kind]
        if not found or (kind in _BRIEF and not everything):
            continue
        cells = [list(group) for _, group in groupby(found, key=lambda pair: (pair.key.agent, pair.key.scenario))]
        page.line()
        page.line(title, "bold")
        for cell in cells[:most]:
            page.line(_cell(cell), indent=2)
        if len(cells) > most:
            page.line(f"and {len(cells) - most} more scenarios; --all lists them", indent=2)


def _cell(pairs: Sequence[Pair]) -> str:
    first = pairs[0]
    word = "trial" if len(pairs) == 1 else "trials"
    head = f"{first.key.agent}/{first.key.scenario}, {word} {', '.join(str(pair.key.trial) for pair in pairs)}"
    why = _why(pairs)
    return f"{head}: {why}" if why else head


def _why(pairs: Sequence[Pair]) -> str:
    parts = [pair.why for pair in pairs if pair.why][:1]
    if changes := sorted({change for pair in pairs for change in pair.changes}):
        parts.append(f"{', '.join(changes)} changed")
    if ends := sorted({_ends(pair) for pair in pairs} - {""}):
        parts.append(", ".join(ends))
    for word, changed in (("now fails", [c for p in pairs for c in p.worse]), ("no longer fails", _better(pairs))):
        if changed:
            parts.append(f"{word} {_checks(changed)}")
    return "; ".join(parts)


def _better(pairs: Sequence[Pair]) -> list[CheckChange]:
    return [change for pair in pairs for change in pair.better]


def _ends(pair: Pair) -> str:
    if pair.base is None or pair.candidate is None or pair.base.end == pair.candidate.end or pair.why:
        return ""
    return f"{pair.base.end} -> {pair.candidate.end}"


def _checks(changes: Iterable[CheckChange]) -> str:
    named = dict.fromkeys(f"{change.check} ({change.severity}, {change.property})" for change in changes)
    return ", ".join(named)


def _groups(page: Page, groups: Sequence[Group], everything: bool) -> None:
    """One table per kind and agent: an agent's name as a column would leave no room for the numbers."""
    for (kind, agent), found in groupby(groups, key=lambda group: (group.kind, group.agent)):
        shown = [g for g in found if g.test.n and (everything or kind == "property" or g.changed)]
        if not shown or kind == "pack" or (kind == "scenario" and not everything):
            continue
        rows = [
            (g.name, percent(g.before / g.test.n), interval(*g.test.before, page.dash), percent(g.after / g.test.n),
             interval(*g.test.after, page.dash), str(g.test.lost), str(g.test.gained), str(g.test.n))
            for g in shown
        ]  # fmt: skip
        styles = ["bold red" if g.test.lost > g.test.gained else "" for g in shown]
        columns = (kind, "base", "95 %", "now", "95 %", "lost", "won", "n")
        page.table(f"{_TITLES[kind]} of {agent} (compared trials)", columns, rows, right=range(1, 8), styles=styles)


def _deltas(page: Page, comparison: Comparison) -> None:
    rows = [
        (d.agent, d.metric.partition("_")[0], _number(d, d.base), _number(d, d.candidate), _change(d),
         f"{d.test.up}/{d.test.down}/{d.test.ties}", f"{d.test.p_value:.2g}", "" if d.drift == "none" else d.drift)
        for d in comparison.deltas
    ]  # fmt: skip
    if rows:
        title = f"Usage, medians of compared trials (drift: beyond {percent(comparison.drift)})"
        columns = ("agent", "what", "base", "now", "change", "up/down/same", "p", "drift")
        page.table(title, columns, rows, right=range(2, 7))


def _number(delta: Delta, value: float) -> str:
    text = f"{value:.4g}" if isinstance(value, float) and not value.is_integer() else str(int(value))
    return f"{text} {_UNITS[delta.metric]}".strip()


def _change(delta: Delta) -> str:
    return "from 0" if delta.change is None else f"{100 * delta.change:+.1f}%"


def _tools(page: Page, changes: Sequence[ToolChange], most: int) -> None:
    rows = [
        (t.agent, t.scenario, f"{t.paths} of {t.pairs}", str(t.reordered),
         ", ".join(f"{name} {before}->{after}" for name, before, after in t.counts))
        for t in changes[:most]
    ]  # fmt: skip
    if rows:
        columns = ("agent", "scenario", "trials", "order only", "calls (before->now)")
        page.table("Tool use that changed", columns, rows, right=(2, 3))
    if len(changes) > most:
        page.line(f"and {len(changes) - most} more scenarios; --all lists them", indent=2)


def _verdict(page: Page, gate: Gate, gated: bool) -> None:
    page.line()
    _list(page, (reason.text for reason in gate.reasons))
    code = gate.exit_code
    if code is ExitCode.OK:
        page.line("NO REGRESSION (exit 0)", "bold green")
        return
    word = "REGRESSED" if code is ExitCode.REGRESSION else "NO SAYING"
    also = any(reason.code is ExitCode.REGRESSION for reason in gate.reasons) and code is not ExitCode.REGRESSION
    word += ", and REGRESSED in what can be compared" if also else ""
    how = f"exit {int(code)}" if gated else f"exit 0; --fail-on-regression makes it {int(code)}"
    page.line(f"{word} ({how})", "bold red")

"""Checks of how tools were used as a whole: which, in what sequence, with what arguments, and not twice.

As everywhere, credit comes from observed calls that were let through and answered; a call of any other
decision still is a call that was made. What asks for the absence of calls is not applicable to a trial that
did not end well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from harness.domain.canonical import canonical
from harness.scoring.calls import Name
from harness.scoring.check import PathProblem, Result, failed, not_applicable, passed, unknown_tool
from harness.scoring.trial import Call, Trial
from harness.scoring.values import holds, plain, quote, same

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Arguments = dict[str, Any]


class ToolCorrectness(Struct, frozen=True, forbid_unknown_fields=True):
    """`tools`: the set expected; empty: no tool at all."""

    tools: list[Name]
    threshold: Share = 1.0


class ToolSequence(Struct, frozen=True, forbid_unknown_fields=True):
    tools: Annotated[list[Name], Meta(min_length=1)]


class ArgumentCorrectness(Struct, frozen=True, forbid_unknown_fields=True):
    """`args`: per tool the arguments its calls must have, or a list of which each call must have one.

    `match`: subset (recursive, the call may have more) or exact.
    """

    args: Annotated[dict[Name, Arguments | list[Arguments]], Meta(min_length=1)]
    match: Annotated[str, Meta(pattern="^(subset|exact)$")] = "subset"
    threshold: Share = 1.0


class NoDuplicateCalls(Struct, frozen=True, forbid_unknown_fields=True):
    """`polling`: tools that may be asked the same thing again, as their answer changes."""

    polling: list[Name] = []


def tool_correctness(trial: Trial, params: ToolCorrectness) -> Result:
    """F1 of the set of tools called against `tools` reaches `threshold`; 1.0, the default, means equal sets.

    F1 = 2 * hits / (|expected| + |called|), the harmonic mean of precision hits / |called| and recall
    hits / |expected| (van Rijsbergen 1979); 1 where both sets are empty. Called: named in an observed call of
    any decision; a hit: expected, and called with effect at least once.
    """
    expected, called = set(params.tools), {call.name for call in trial.calls}
    hits = expected & {call.name for call in trial.calls if call.effective}
    value = 2 * len(hits) / (len(expected) + len(called)) if expected or called else 1.0
    missing, extra = sorted(expected - hits), sorted(called - expected)
    details = [f"{word} {', '.join(names)}" for word, names in (("missing", missing), ("extra", extra)) if names]
    reason = f"expected the tools {_list(sorted(expected))} at F1 {params.threshold:.4g} or more, came {value:.4g}"
    reason = plain("; ".join([reason, *details]))
    return _graded(trial, reason, value, params.threshold, [call.line for call in trial.calls])


def tool_sequence(trial: Trial, params: ToolSequence) -> Result:
    """The observed calls are exactly `tools`, in this order, each with effect; none other comes between.

    Stricter than tool_call_order, which asks for a subsequence.
    """
    came = [call.name if call.effective else f"{call.name} ({_fate(call)})" for call in trial.calls]
    reason = f"expected exactly the calls {_list(params.tools)}, came {_list(came[:12])}"
    reason = plain(reason + (f" and {len(came) - 12} more" if len(came) > 12 else ""))
    return _graded(trial, reason, float(came == params.tools), 1.0, [call.line for call in trial.calls])


def argument_correctness(trial: Trial, params: ArgumentCorrectness) -> Result:
    """The share of calls of the named tools that had their expected arguments reaches `threshold`.

    share = matching / (observed calls of the named tools + named tools never called). A call matches where it
    had effect and its arguments hold (`subset`) or are (`exact`) the expected ones; 1 equals 1.0.
    """
    fits = same if params.match == "exact" else holds
    calls = [call for call in trial.calls if call.name in params.args]
    wrong = [call for call in calls if not (call.effective and _fits_one(fits, params.args[call.name], call))]
    uncalled = sorted(set(params.args) - {call.name for call in calls})
    value = (len(calls) - len(wrong)) / (len(calls) + len(uncalled))
    reason = f"expected {params.threshold:.4g} or more of the calls with their arguments, came {value:.4g}"
    if wrong:
        wanted = quote(params.args[wrong[0].name])
        reason += f"; {wrong[0].name} came with {quote(wrong[0].arguments)} ({_fate(wrong[0])}), expected {wanted}"
    if uncalled:
        reason += f"; never called: {', '.join(uncalled)}"
    evidence = [call.line for call in (wrong or calls)] or [trial.end_line]
    judged = passed if value >= params.threshold else failed
    return structs.replace(judged(plain(reason), evidence), value=value, threshold=params.threshold)


def no_duplicate_calls(trial: Trial, params: NoDuplicateCalls) -> Result:
    """No call is made again with equal arguments (any key order, 1 equals 1.0), but for `polling` tools.

    Asking again after an error is a retry, which retry_discipline judges. value: calls that repeat one.
    """
    calls = [call for call in trial.calls if call.name not in params.polling]
    if not calls:
        return not_applicable("no call was made that could be made twice", (trial.end_line,))
    made: dict[tuple[str, str], Call] = {}
    repeats: list[tuple[Call, Call]] = []
    for call in calls:
        key = (call.name, canonical(call.arguments))
        if key in made and not (made[key].decision == "allowed" and made[key].status == "error"):
            repeats.append((made[key], call))
        made[key] = call
    if repeats:
        first, again = repeats[0]
        reason = f"expected no call made twice, came {len(repeats)}: {again.name} with {quote(again.arguments)}"
        result = failed(plain(f"{reason} on lines {first.line} and {again.line}"), [c.line for p in repeats for c in p])
    elif trial.ended_well:
        result = passed(f"expected no call made twice, came none among {len(calls)}", [call.line for call in calls])
    else:
        reason = f"no call was made twice before the trial ended {trial.outcome.end}"
        result = not_applicable(reason, (trial.end_line,))
    return structs.replace(result, value=float(len(repeats)), threshold=0.0)


def examine_tools(params: ToolCorrectness | ToolSequence, tools: Sequence[str]) -> Iterable[PathProblem]:
    for index, name in enumerate(params.tools):
        yield from unknown_tool(name, ("tools", index), tools)


def examine_arguments(params: ArgumentCorrectness, tools: Sequence[str]) -> Iterable[PathProblem]:
    for name, wanted in params.args.items():
        yield from unknown_tool(name, ("args", name), tools)
        if isinstance(wanted, list) and not wanted:
            yield ("args", name), "expected arguments, or a list of at least one set of them"


def examine_polling(params: NoDuplicateCalls, tools: Sequence[str]) -> Iterable[PathProblem]:
    for index, name in enumerate(params.polling):
        yield from unknown_tool(name, ("polling", index), tools)


def _graded(trial: Trial, reason: str, value: float, threshold: float, evidence: Sequence[int]) -> Result:
    """A number held against its threshold, where a good one needs a trial that ended well."""
    evidence = evidence or (trial.end_line,)
    if value < threshold:
        result = failed(reason, evidence)
    elif trial.ended_well:
        result = passed(reason, evidence)
    else:
        result = not_applicable(f"{reason} before the trial ended {trial.outcome.end}", (trial.end_line,))
    return structs.replace(result, value=value, threshold=threshold)


def _fits_one(fits: Any, wanted: Arguments | list[Arguments], call: Call) -> bool:
    return any(fits(one, call.arguments) for one in (wanted if isinstance(wanted, list) else [wanted]))


def _fate(call: Call) -> str:
    return call.status or "no result" if call.decision == "allowed" else call.decision


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"

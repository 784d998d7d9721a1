"""The comparison of two records: what differs in how they were made, then what became of every trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from harness.compare.groups import groups_of
from harness.compare.pairs import criticals, paired
from harness.compare.use import deltas_of, tools_of
from harness.domain.comparison import DRIFT, Comparison, Difference, NoiseFloor, Pair, PairKind
from harness.domain.record import Header, Record
from harness.domain.verdict import ExitCode
from harness.errors import UsageError


class Options(Struct, frozen=True):
    """`drift`: threshold of rates (absolute) and of medians (relative). `agents`: base name -> candidate name.

    `force`: also compare what makes little sense. `noise`: printed beside every count of flips. `notes`: said first.
    """

    drift: float = DRIFT
    agents: dict[str, str] = {}
    force: bool = False
    noise: NoiseFloor | None = None
    notes: tuple[str, ...] = ()


def compare(base: Record, candidate: Record, options: Options = Options()) -> Comparison:  # noqa: B008  frozen
    """Pair the trials by agent, scenario and trial. UsageError, with the reason, where that makes no sense."""
    before, after = base.header, candidate.header
    if not options.force:
        _refuse(before, after)
    agents = _agents(base, candidate, options.agents)
    pairs = paired(base.trials, candidate.trials, agents)
    if not any(pair.base is not None and pair.candidate is not None for pair in pairs):
        raise UsageError(f"{before.name} and {after.name} have no trial in common", _HAVE)
    if not any(pair.comparable for pair in pairs):
        first = next(pair.why for pair in pairs if pair.why)
        raise UsageError(f"no trial can be compared: {first}", "run what is inconclusive again")
    return Comparison(
        base=before,
        candidate=after,
        agents=tuple(agents.items()),
        differences=tuple(_differences(before, after, agents)),
        notes=(*options.notes, *_notes(base, candidate, agents, options, pairs)),
        critical=criticals(pairs),
        pairs=pairs,
        groups=groups_of(pairs),
        deltas=deltas_of(pairs, options.drift),
        tools=tools_of(pairs),
        drift=options.drift,
        noise=options.noise,
    )


_HAVE = "compare runs of one pack by the same agents and scenarios"


def _refuse(base: Header, candidate: Header) -> None:
    if base.pack.name != candidate.pack.name:
        raise UsageError(
            f"different packs: {base.name} is of {base.pack.name}, {candidate.name} of {candidate.pack.name}",
            "--force compares the scenarios that have the same name",
        )
    if base.summary.exit_code == ExitCode.NO_VERDICT and not base.accepted:
        reason = f"the base, {base.name}, is inconclusive ({'; '.join(base.doubts)}): nothing can be held against it"
        raise UsageError(reason, "run it again, or --force")


def _agents(base: Record, candidate: Record, wanted: Mapping[str, str]) -> dict[str, str]:
    """Base name -> candidate name. Same names, those that were asked for, or the only one on either side."""
    before = sorted({row.key.agent for row in base.trials})
    after = sorted({row.key.agent for row in candidate.trials})
    for names, known, side in ((wanted.keys(), before, base), (wanted.values(), after, candidate)):
        for name in names:
            if name not in known:
                raise UsageError(
                    f"{side.header.name} has no agent {name[:100]!r}", f"it has {', '.join(known) or 'none'}"
                )
    if len(set(wanted.values())) < len(wanted):
        raise UsageError("two agents of the base cannot be compared with one of the candidate", "name each once")
    taken = set(wanted.values())
    same = {name: name for name in before if name in after and name not in wanted and name not in taken}
    found = {**wanted, **same}
    if not found and len(before) == len(after) == 1:
        found = {before[0]: after[0]}
    if not found:
        raise UsageError(
            f"no agent in common: {base.header.name} has {', '.join(before) or 'none'}, "
            f"{candidate.header.name} has {', '.join(after) or 'none'}",
            "--agent BASE=CANDIDATE says which to compare",
        )
    return dict(sorted(found.items()))


def _differences(base: Header, candidate: Header, agents: Mapping[str, str]) -> Iterator[Difference]:
    for what in ("name", "version", "digest"):
        yield from _differ(f"pack {what}", getattr(base.pack, what), getattr(candidate.pack, what))
    before = {agent.name: agent for agent in base.agents}
    after = {agent.name: agent for agent in candidate.agents}
    for ours, theirs in agents.items():
        one, other = before.get(ours), after.get(theirs)
        if one is not None and other is not None:
            yield from _differ(f"image of {theirs}", one.image, other.image)
            yield from _differ(f"image digest of {theirs}", one.digest, other.digest)
            for what in ("adapter", "writable", "writable_paths"):
                yield from _differ(f"{what} of {theirs}", getattr(one, what), getattr(other, what))
            yield from _fields(f"{theirs}, own limit", one.limits, other.limits)
            names = [", ".join(f"{rule.asked}={rule.used}" for rule in side.model_names) for side in (one, other)]
            yield from _differ(f"model names of {theirs}", *names)
    yield from _differ("model", base.model, candidate.model)
    yield from _differ("recording of tool servers", base.tools, candidate.tools)
    yield from _fields("policy", base.policy, candidate.policy)
    yield from _fields("limit", base.limits, candidate.limits)
    yield from _differ("harness version", base.harness, candidate.harness)
    yield from _fields("judge", base.judge and base.judge.ref, candidate.judge and candidate.judge.ref)
    yield from _fields("judge", base.judge and base.judge.settings, candidate.judge and candidate.judge.settings)
    asked = ["; ".join(side.judged_by) or "nobody was asked" for side in (base, candidate)]
    yield from _differ("judged by", *asked)
    yield from _differ("seed", base.seed, candidate.seed)
    yield from _differ("scenarios chosen (--only)", " ".join(base.only), " ".join(candidate.only))
    yield from _differ("held-out scenarios", base.holdout, candidate.holdout)
    yield from _fields("bar of", base.bars, candidate.bars)
    if base.git and candidate.git:
        yield from _differ("git commit", base.git, candidate.git)


def _differ(what: str, base: Any, candidate: Any) -> Iterator[Difference]:
    if base != candidate:
        yield Difference(what, _text(base), _text(candidate))


def _text(value: Any) -> str:
    return "none" if value in (None, "", [], (), {}) else str(value)


def _fields(what: str, base: Any, candidate: Any) -> Iterator[Difference]:
    """One row per field that differs; None: the whole is not there."""
    before, after = (dict(msgspec.to_builtins(side) or {}) for side in (base, candidate))
    for name in sorted({*before, *after}):
        yield from _differ(f"{what} {name}", before.get(name), after.get(name))


def _notes(
    base: Record, candidate: Record, agents: Mapping[str, str], options: Options, pairs: tuple[Pair, ...]
) -> Iterator[str]:
    before, after = base.header, candidate.header
    for side, header in (("base", before), ("candidate", after)):
        if header.accepted:
            yield f"the {side}, {header.name}, was saved in spite of {'; '.join(header.doubts)}: {header.accepted}"
        elif header.doubts:
            yield f"the {side}, {header.name}, has {'; '.join(header.doubts)}"
    if before.trust is not None and before.trust != "golden":
        yield f"the base is a baseline of trust {before.trust}: small losses add up unseen unless a golden one is kept"
    for ours, theirs in agents.items():
        if ours != theirs:
            how = "as asked" if ours in options.agents else "as each side has just one"
            yield f"{ours} of the base is compared with {theirs} of the candidate, {how}"
    yield from _left_out("base", base, set(agents))
    yield from _left_out("candidate", candidate, set(agents.values()))
    missing = sum(pair.kind is PairKind.MISSING for pair in pairs)
    if missing:
        yield f"{missing} trials of the base were not run by the candidate: nothing is known of them"


def _left_out(side: str, record: Record, compared: set[str]) -> Iterator[str]:
    names = sorted({row.key.agent for row in record.trials} - compared)
    if names:
        yield f"only in the {side}, and not compared: {', '.join(names)}"

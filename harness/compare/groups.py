"""Pairs counted: for the whole pack, and by property, family, bucket and scenario, each agent apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from harness.domain.comparison import Group, GroupKind, Pair, PairKind
from harness.domain.verdict import Property
from harness.stats.paired import mcnemar


def groups_of(pairs: Sequence[Pair]) -> tuple[Group, ...]:
    """The pack first, then properties, families, buckets and scenarios; by agent within each."""
    agents = sorted({pair.key.agent for pair in pairs})
    by_agent = {agent: [pair for pair in pairs if pair.key.agent == agent] for agent in agents}
    found = [_group("pack", agent, "all", own) for agent, own in by_agent.items()]
    for agent, own in by_agent.items():
        found += _properties(agent, own)
    keys: tuple[tuple[GroupKind, Callable[[Pair], str]], ...] = (
        ("family", lambda pair: pair.family),
        ("bucket", lambda pair: pair.bucket),
        ("scenario", lambda pair: pair.key.scenario),
    )
    for kind, key in keys:
        for agent, own in by_agent.items():
            found += _split(kind, agent, own, key)
    return tuple(found)


def _split(kind: GroupKind, agent: str, pairs: Iterable[Pair], key: Callable[[Pair], str]) -> Iterator[Group]:
    parts: dict[str, list[Pair]] = {}
    for pair in pairs:
        parts.setdefault(key(pair), []).append(pair)
    for name in sorted(parts):
        yield _group(kind, agent, name, parts[name])


def _group(kind: GroupKind, agent: str, name: str, pairs: Sequence[Pair]) -> Group:
    sides = [(p.base.passed, p.candidate.passed) for p in pairs if p.comparable and p.base and p.candidate]
    return _counted(kind, agent, name, Counter(pair.kind for pair in pairs), sides)


def _counted(
    kind: GroupKind, agent: str, name: str, counts: Counter[PairKind], sides: Iterable[tuple[bool, bool]]
) -> Group:
    test = mcnemar(sides)
    return Group(kind, agent, name, {k: counts[k] for k in PairKind if counts[k]}, test, test.reading)


def _properties(agent: str, pairs: Sequence[Pair]) -> Iterator[Group]:
    for prop in Property:
        sides = [
            (before, after)
            for pair in pairs
            if pair.base is not None and pair.candidate is not None
            if (before := pair.base.holds(prop)) is not None and (after := pair.candidate.holds(prop)) is not None
        ]
        if sides:
            yield _counted("property", agent, prop.value, Counter(map(_kind, sides)), sides)


def _kind(sides: tuple[bool, bool]) -> PairKind:
    before, after = sides
    if before == after:
        return PairKind.UNCHANGED
    return PairKind.IMPROVED if after else PairKind.REGRESSED

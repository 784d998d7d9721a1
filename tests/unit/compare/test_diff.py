"""What else differs is said first, what makes no sense is refused, and use is compared beside verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from harness.compare.diff import Options, compare
from harness.compare.noise import noise_floor
from harness.domain.comparison import PairKind
from harness.domain.judge import JudgeRef, JudgeSettings, JudgeSpec
from harness.domain.limits import Limits, OwnLimits
from harness.domain.model import NameRule
from harness.domain.outcome import Usage
from harness.domain.run import PackRef
from harness.domain.spec import AgentRef, Policy
from harness.domain.verdict import Property
from harness.errors import UsageError
from tests.unit.compare.made import failing, friction, inconclusive, passing, record, runs_of, with_header

ONE = record(passing("s"))


def said(**plan: Any) -> list[tuple[str, str, str]]:
    found = compare(ONE, record(passing("s"), **plan)).differences
    return [(d.what, d.base, d.candidate) for d in found]


def test_the_same_is_the_same() -> None:
    assert said() == []
    assert said(jobs=8, created="2026-01-01T00:00:00+00:00", run_id="other") == []


@pytest.mark.parametrize(
    ("plan", "difference"),
    [
        ({"pack": PackRef("core", "1.0.1", "sha256:aa", "")}, ("pack version", "1.0.0", "1.0.1")),
        ({"pack": PackRef("core", "1.0.0", "sha256:cc", "")}, ("pack digest", "sha256:aa", "sha256:cc")),
        ({"agents": (AgentRef("support", "support:1", "sha256:dd"),)},
         ("image digest of support", "sha256:bb", "sha256:dd")),
        ({"agents": (AgentRef("support", "support:1", "sha256:bb", writable="redirect"),)},
         ("writable of support", "none", "redirect")),
        ({"agents": (AgentRef("support", "support:1", "sha256:bb", limits=OwnLimits(pids=9)),)},
         ("support, own limit pids", "none", "9")),
        ({"agents": (AgentRef("support", "support:1", "sha256:bb", model_names=(NameRule("a", "b"),)),)},
         ("model names of support", "none", "a=b")),
        ({"policy": Policy("redirect")}, ("policy writable", "strict", "redirect")),
        ({"limits": Limits(wall_ms=9)}, ("limit wall_ms", "300000", "9")),
        ({"harness": "0.2.0"}, ("harness version", "0.1.0", "0.2.0")),
        ({"seed": 8}, ("seed", "7", "8")),
        ({"only": ("s*",)}, ("scenarios chosen (--only)", "none", "s*")),
        ({"tools": "cassette:ab12"}, ("recording of tool servers", "none", "cassette:ab12")),
        ({"judge": JudgeSpec(JudgeRef("m"), JudgeSettings())}, ("judge model", "none", "m")),
    ],
)  # fmt: skip
def test_a_difference_of_how_they_were_made_is_said(plan: dict[str, Any], difference: tuple[str, str, str]) -> None:
    assert difference in said(**plan)


def test_a_bar_that_was_lowered_is_said() -> None:
    base = record(passing("s"), bars={Property.CORRECTNESS: 1.0})
    found = compare(base, record(passing("s"), bars={Property.CORRECTNESS: 0.5})).differences
    assert [(d.what, d.base, d.candidate) for d in found] == [("bar of correctness", "1.0", "0.5")]


@pytest.mark.parametrize(
    ("base", "candidate", "reason"),
    [
        (ONE, record(passing("other")), "no trial in common"),
        (ONE, record(passing("s", agent="x"), passing("s", agent="y")), "no agent in common"),
        (ONE, record(passing("s"), pack=PackRef("else", "1", "", "")), "different packs"),
        (record(passing("s"), inconclusive("t")), ONE, "the base, .*, is inconclusive .1 inconclusive trials"),
        (ONE, record(friction("s")), "no trial can be compared: candidate: friction .startup_failed"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(base: Any, candidate: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        compare(base, candidate)


def test_force_compares_different_packs_and_an_inconclusive_base() -> None:
    other = record(passing("s"), pack=PackRef("else", "1", "", ""))
    assert len(compare(ONE, other, Options(force=True)).pairs) == 1
    doubtful = record(passing("s"), inconclusive("t"))
    assert "1 inconclusive trials" in compare(doubtful, ONE, Options(force=True)).notes[0]


def test_a_baseline_that_was_accepted_in_spite_of_doubts_is_no_reason_to_refuse_but_says_so() -> None:
    base = record(passing("s"), inconclusive("t"))
    base = with_header(base, name="golden", trust="golden", accepted="the engine was ill")
    (note, _) = compare(base, ONE).notes
    assert note.startswith("the base, golden, was saved in spite of 1 inconclusive trials")
    assert note.endswith("the engine was ill")


def test_a_base_that_is_not_golden_is_warned_of() -> None:
    assert "small losses add up" in compare(with_header(ONE, trust="candidate"), ONE).notes[0]
    assert compare(with_header(ONE, trust="golden"), ONE).notes == ()


def test_single_agents_of_different_names_are_paired_and_that_is_said() -> None:
    found = compare(record(passing("s", agent="v1")), record(failing("s", agent="v2")))
    assert found.agents == (("v1", "v2"),)
    assert [pair.kind for pair in found.pairs] == [PairKind.REGRESSED]
    assert found.notes == ("v1 of the base is compared with v2 of the candidate, as each side has just one",)


def test_agents_can_be_mapped_and_those_left_out_are_named() -> None:
    base = record(passing("s", agent="v1"), passing("s", agent="x"))
    candidate = record(failing("s", agent="v2"), passing("s", agent="y"))
    found = compare(base, candidate, Options(agents={"v1": "v2"}))
    assert [(str(pair.key), pair.kind.value) for pair in found.pairs] == [("v2/s/1", "regressed")]
    assert found.notes[1:] == ("only in the base, and not compared: x", "only in the candidate, and not compared: y")


@pytest.mark.parametrize("agents", [{"nope": "v2"}, {"v1": "nope"}, {"v1": "v2", "x": "v2"}])
def test_a_mapping_that_cannot_be_is_refused(agents: dict[str, str]) -> None:
    base = record(passing("s", agent="v1"), passing("s", agent="x"))
    with pytest.raises(UsageError, match=r"nope|two agents"):
        compare(base, record(passing("s", agent="v2")), Options(agents=agents))


def test_groups_count_by_pack_property_family_bucket_and_scenario() -> None:
    base = record(passing("case-1"), passing("case-2"), failing("attack-1"))
    candidate = record(passing("case-1"), failing("case-2"), passing("attack-1"))
    found = {(g.kind, g.name): (g.before, g.after, g.test.n, g.counts) for g in compare(base, candidate).groups}
    one_each = {PairKind.REGRESSED: 1, PairKind.IMPROVED: 1, PairKind.UNCHANGED: 1}
    assert found["pack", "all"] == (2, 2, 3, one_each)
    assert found["property", "correctness"] == (2, 2, 3, one_each)
    assert found["family", "case"] == (2, 1, 2, {PairKind.REGRESSED: 1, PairKind.UNCHANGED: 1})
    assert found["bucket", "adversarial"] == (0, 1, 1, {PairKind.IMPROVED: 1})
    assert found["scenario", "case-2"] == (1, 0, 1, {PairKind.REGRESSED: 1})
    pack = next(group for group in compare(base, candidate).groups if group.kind == "pack")
    assert "too few for any test" in pack.reading
    assert pack.test.p_value == 1.0


def used(ms: int, tokens: int = 0, cost: float = 0.0, known: bool = True) -> Usage:
    return Usage(wall_ms=ms, tokens=tokens, cost_usd=cost, cost_known=known, steps=1)


def test_use_drifts_beyond_the_threshold_and_not_at_it() -> None:
    base = record(*(passing(f"s-{i}", usage=used(100, tokens=100)) for i in range(8)))
    candidate = record(*(passing(f"s-{i}", usage=used(111, tokens=110)) for i in range(8)))
    found = {d.metric: d for d in compare(base, candidate).deltas}
    assert set(found) == {"latency_ms", "tokens", "steps"}
    assert (found["latency_ms"].drift, found["tokens"].drift, found["steps"].drift) == ("up", "none", "none")
    assert found["latency_ms"].change == pytest.approx(0.11)
    assert found["latency_ms"].test.p_value == pytest.approx(2 / 2**8)
    assert compare(candidate, base).deltas[0].drift == "none"


def test_cost_is_compared_only_where_it_is_known_and_from_nothing_is_drift() -> None:
    base = record(passing("s", usage=used(1)), passing("t", usage=used(1, cost=5.0, known=False)))
    candidate = record(passing("s", usage=used(1, cost=0.5)), passing("t", usage=used(1, cost=1.0)))
    (cost,) = (d for d in compare(base, candidate).deltas if d.metric == "cost_usd")
    assert (cost.n, cost.base, cost.candidate, cost.change, cost.drift) == (1, 0.0, 0.5, None, "up")


def test_tools_added_removed_counted_and_reordered() -> None:
    base = record(passing("s", tools=("look", "pay")), passing("s", 2, tools=("look",)), passing("t", tools=("look",)))
    candidate = record(
        passing("s", tools=("pay", "look")), passing("s", 2, tools=("search", "search")), passing("t", tools=("look",))
    )
    (found,) = compare(base, candidate).tools
    assert (found.scenario, found.pairs, found.paths, found.reordered) == ("s", 2, 2, 1)
    assert (found.added, found.removed) == (("search",), ())
    assert found.counts == (("look", 2, 1), ("search", 0, 2))


def test_the_noise_floor_is_the_share_of_flips() -> None:
    noise = noise_floor(compare(record(*runs_of(90, 100)), record(*runs_of(88, 100))).pairs)
    assert (noise.pairs, noise.flips, noise.rate) == (100, 2, 0.02)
    assert 0.0 < noise.low < 0.02 < noise.high < 0.1
    assert noise_floor(()).high == 1.0

"""Spending and keeping: limits hold under concurrency, unknown use is never free, a key has every ingredient."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.judge import JudgeRef, JudgeSettings
from harness.domain.verdict import Status
from harness.errors import UsageError
from harness.ports import JudgePrompt, JudgeReply
from harness.scoring.check import Open
from harness.scoring.judge import prompt as prompts
from harness.scoring.judge.evidence import Evidence, Piece
from harness.scoring.judge.judge import Judge, judge_key
from harness.scoring.judge.purse import Purse, Tokens
from tests.unit.scoring.judging import (
    DOWN,
    KIND,
    ONE,
    REF,
    DictCache,
    ScriptedJudge,
    entry,
    evidence,
    said,
    settings,
    weigh,
)

pytestmark = pytest.mark.anyio
GOOD = said(entry())
PRICES = {"usd_per_mtok_in": 10.0, "usd_per_mtok_out": 100.0}


# ---- spending ----


async def test_calls_beyond_the_limit_are_not_made_and_the_reason_says_so() -> None:
    model = ScriptedJudge(GOOD)
    found = await weigh(model, samples=3, max_calls=1)
    assert len(model.prompts) == found.judgement.calls == 1
    assert found.result.status is Status.NOT_SCORED
    assert "the judge's max_calls=1 is spent" in found.result.reason
    assert (await weigh(ScriptedJudge(GOOD), samples=3, max_calls=2)).result.status is Status.PASS


class Meter:
    """A judge whose calls take a while, and which knows how many were under way at once."""

    def __init__(self) -> None:
        self.calls = self.now = self.most = 0

    async def ask(self, prompt: JudgePrompt) -> JudgeReply:
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await anyio.sleep(0.002 * (1 + prompt.sample % 3))
        self.now -= 1
        return GOOD


async def test_limits_hold_for_all_calls_of_a_judge_at_once() -> None:
    model = Meter()
    judge = Judge(REF, model, settings(samples=5, concurrency=3, max_calls=17))
    async with anyio.create_task_group() as tasks:
        for at in range(6):
            tasks.start_soon(judge.weigh, "task_completion", ONE, evidence(f"{KIND} {at}"))
    assert model.calls == 17
    assert model.most == 3


async def test_what_was_reserved_and_not_taken_is_there_for_those_who_wait() -> None:
    """One call reserves far more than it takes: all must still get their turn, and none may go beyond."""
    most = Tokens(800, 200)
    purse = Purse(settings(max_tokens=1500))
    done: list[str | None] = []

    async def spend() -> None:
        spent = await purse.reserve(most)
        done.append(spent)
        if spent is None:
            await anyio.sleep(0.001)
            purse.settle(most, Tokens(90, 10))

    async with anyio.create_task_group() as tasks:
        for _ in range(7):
            tasks.start_soon(spend)
    assert done.count(None) == 6, "5 x 100 settled leave 1000 for a sixth, 600 no more for a seventh"
    assert [one for one in done if one] == ["the judge's max_tokens=1500 is spent, or would be by one more call"]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50), st.integers(0, 3)), max_size=12), st.integers(1, 200))
def test_no_limit_on_tokens_is_ever_passed(calls: list[tuple[int, int, int]], limit: int) -> None:
    """Of calls (reserved, taken at most that, ticks) run at once."""
    taken = 0

    async def spend(purse: Purse, most: int, used: int, ticks: int) -> None:
        nonlocal taken
        if await purse.reserve(Tokens(most, 0)) is None:
            for _ in range(ticks):
                await anyio.lowlevel.checkpoint()
            taken += min(most, used)
            assert taken <= limit
            purse.settle(Tokens(most, 0), Tokens(min(most, used), 0))

    async def run() -> None:
        purse = Purse(settings(max_tokens=limit))
        async with anyio.create_task_group() as tasks:
            for call in calls:
                tasks.start_soon(spend, purse, *call)

    anyio.run(run)


async def test_of_unknown_use_the_reserve_counts_as_spent() -> None:
    silent = JudgeReply(GOOD.text)
    one = await weigh(ScriptedJudge(silent), samples=1, max_tokens=6000)
    assert one.result.status is Status.PASS
    assert (one.judgement.input_tokens, one.judgement.output_tokens, one.judgement.cost_usd) == (-1, -1, None)
    many = await weigh(ScriptedJudge(silent), samples=9, concurrency=1, max_tokens=6000)
    assert many.judgement.calls == 1
    assert "max_tokens=6000 is spent" in many.result.reason
    down = await weigh(ScriptedJudge(DOWN), samples=9, concurrency=1, max_tokens=6000)
    assert down.judgement.calls == 1


@pytest.mark.parametrize("counts", [(0, 0), (0, 10), (100, 0)])
async def test_a_server_that_counts_nothing_cannot_make_a_limit_void(counts: tuple[int, int]) -> None:
    model = ScriptedJudge(said(entry(), into=counts[0], out=counts[1]))
    free = await weigh(model, samples=9)
    assert (free.judgement.input_tokens, free.judgement.cost_usd) == (-1, None)
    model = ScriptedJudge(said(entry(), into=counts[0], out=counts[1]))
    await weigh(model, samples=9, max_tokens=20_000)
    assert 1 <= len(model.prompts) < 9


async def test_cost_is_tokens_times_prices_and_bounded() -> None:
    found = await weigh(ScriptedJudge(GOOD), **PRICES)
    assert (found.judgement.input_tokens, found.judgement.output_tokens) == (300, 30)
    assert found.judgement.cost_usd == pytest.approx(0.006)
    tight = await weigh(ScriptedJudge(GOOD), max_cost_usd=0.001, **PRICES)
    assert tight.judgement.calls == 0
    assert tight.judgement.cost_usd == 0.0
    assert "max_cost_usd=0.001 is spent" in tight.result.reason


async def test_cost_is_unknown_where_a_price_is() -> None:
    assert (await weigh(ScriptedJudge(GOOD), usd_per_mtok_in=1.0)).judgement.cost_usd is None


@pytest.mark.parametrize("prices", [{}, {"usd_per_mtok_in": 1.0}, {"usd_per_mtok_out": 1.0}])
def test_a_cost_limit_without_prices_is_refused(prices: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="max_cost_usd cannot be kept"):
        Judge(REF, ScriptedJudge(GOOD), settings(max_cost_usd=1.0, **prices))


# ---- keeping ----


async def test_what_was_read_is_kept_and_costs_nothing_again() -> None:
    cache, model = DictCache(), ScriptedJudge(GOOD)
    judge = Judge(REF, model, settings(max_calls=3), cache)
    first = await judge.weigh("task_completion", ONE, evidence())
    second = await judge.weigh("task_completion", ONE, evidence())
    assert len(model.prompts) == len(cache.stored) == 3
    assert second.result == first.result
    assert (second.judgement.calls, second.judgement.cached) == (0, 3)
    assert (second.judgement.input_tokens, second.judgement.cost_usd) == (0, 0.0)


@pytest.mark.parametrize(
    "reply", [JudgeReply("no"), JudgeReply(GOOD.text, refused="no"), said(entry(quote="made up")), DOWN]
)
async def test_what_was_not_read_may_be_asked_again(reply: JudgeReply | Exception) -> None:
    cache = DictCache()
    await Judge(REF, ScriptedJudge(reply), settings(), cache).weigh("task_completion", ONE, evidence())
    assert cache.stored == {}
    again = await Judge(REF, ScriptedJudge(GOOD), settings(), cache).weigh("task_completion", ONE, evidence())
    assert again.result.status is Status.PASS


async def test_a_kept_reply_that_cannot_be_read_is_a_miss() -> None:
    cache = DictCache()
    judge = Judge(REF, ScriptedJudge(GOOD), settings(samples=1), cache)
    await judge.weigh("task_completion", ONE, evidence())
    cache.stored = dict.fromkeys(cache.stored, JudgeReply("rubbish"))
    found = await judge.weigh("task_completion", ONE, evidence())
    assert (found.judgement.calls, found.judgement.cached) == (1, 0)


BASE: dict[str, Any] = {
    "check": "task_completion",
    "question": ONE,
    "evidence": evidence(),
    "ref": JudgeRef("m", "http://localhost:1"),
    "settings": JudgeSettings(max_cost_usd=1.0, **PRICES),
    "sample": 0,
}
replace = msgspec.structs.replace


def changed(field: str, **changes: Any) -> dict[str, Any]:
    return {**BASE, field: replace(BASE[field], **changes)}


PIECE = BASE["evidence"].pieces[0]
INGREDIENTS: dict[str, dict[str, Any]] = {
    "metric": {**BASE, "check": "output_correctness"},
    "a criterion": changed("question", criteria=("The answer is rude",)),
    "one more criterion": changed("question", criteria=(*ONE.criteria, "x")),
    "about": changed("question", about="Something else."),
    "model": changed("ref", model="n"),
    "temperature": changed("settings", temperature=0.0),
    "seed": changed("settings", seed=7),
    "answer_tokens": changed("settings", answer_tokens=99),
    "sample": {**BASE, "sample": 1},
    "task": changed("evidence", task="other"),
    **{
        f"a piece's {field}": changed("evidence", pieces=(replace(PIECE, **{field: value}),))
        for field, value in {"line": 8, "kind": "x", "name": "x", "text": "x"}.items()
    },
    "one more piece": changed("evidence", pieces=(PIECE, PIECE)),
}
OTHERS: dict[str, dict[str, Any]] = {
    "base_url": changed("ref", base_url="https://elsewhere"),
    "threshold": changed("question", threshold=0.1),
    **{
        field: changed("settings", **{field: value})
        for field, value in {
            "samples": 9, "timeout_ms": 1, "retries": 0, "concurrency": 1, "max_calls": 1, "max_tokens": 1,
            "max_cost_usd": 2.0, "usd_per_mtok_in": 2.0, "usd_per_mtok_out": 2.0,
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("arguments", INGREDIENTS.values(), ids=INGREDIENTS)
def test_any_ingredient_changed_misses(arguments: dict[str, Any]) -> None:
    assert judge_key(**arguments) != judge_key(**BASE)


def test_another_prompt_version_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    before = judge_key(**BASE)
    monkeypatch.setattr(prompts, "PROMPT_VERSION", "another")
    assert judge_key(**BASE) != before


@pytest.mark.parametrize("arguments", OTHERS.values(), ids=OTHERS)
def test_nothing_else_misses(arguments: dict[str, Any]) -> None:
    assert judge_key(**arguments) == judge_key(**BASE)


def test_every_field_is_one_or_the_other() -> None:
    """A field added to settings, reference, question, evidence or prompt has to be thought about."""
    named = {*INGREDIENTS, *OTHERS, "seed", "criteria", "pieces"}
    fields = {field for kind in (JudgeRef, JudgeSettings, Open, Evidence) for field in kind.__struct_fields__}
    assert fields - named == set()
    assert {f"a piece's {field}" for field in Piece.__struct_fields__} <= named


TEXT = st.text(max_size=6)
PIECES = st.lists(st.builds(Piece, st.integers(0, 5), TEXT, TEXT, TEXT), max_size=3).map(tuple)
ARGUMENTS = st.tuples(
    st.sampled_from(["a", "b"]), TEXT, st.lists(TEXT, max_size=2).map(tuple), TEXT, PIECES, TEXT, st.integers(0, 3)
)


@given(ARGUMENTS, ARGUMENTS)
def test_keys_are_equal_for_equal_ingredients_only(left: Any, right: Any) -> None:
    def key(given: Any) -> str:
        check, about, criteria, task, pieces, model, sample = given
        return judge_key(check, Open(about, criteria), Evidence(task, pieces), JudgeRef(model), JudgeSettings(), sample)

    assert (key(left) == key(right)) is (left == right)
    assert key(left) == key(left)
    assert len(key(left)) == 64

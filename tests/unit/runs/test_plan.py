"""Which scenarios of a pack are chosen to run."""

from __future__ import annotations

import pytest

from harness.domain.limits import Budget
from harness.domain.pack import Pack, Scenario, ScenarioReplies
from harness.errors import UsageError
from harness.runs.plan import Choice, chosen


def scenario(ident: str, family: str, tags: tuple[str, ...] = (), holdout: bool = False) -> Scenario:
    return Scenario(
        id=ident, family=family, bucket="happy", tags=tags, difficulty="easy", holdout=holdout, input="x", context={},
        tools={}, allowed_tools=(), disallowed_tools=(), replies=ScenarioReplies(), checks=(), budget=Budget(),
        trials=1, canaries=(), writable=None, selftest=None,
    )  # fmt: skip


PACK = Pack(
    "p", "1", "", "", "",
    (
        scenario("refund", "money"),
        scenario("refund-late", "money", ("slow",)),
        scenario("greet", "refund"),
        scenario("secret", "money", holdout=True),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("only", "ids"),
    [
        ((), ["refund", "refund-late", "greet"]),
        (("refund",), ["refund", "greet"]),
        (("id:refund",), ["refund"]),
        (("id:refund*",), ["refund", "refund-late"]),
        (("family:refund",), ["greet"]),
        (("tag:slow", "id:greet"), ["refund-late", "greet"]),
        (("bucket:happy",), ["refund", "refund-late", "greet"]),
    ],
)
def test_a_scenario_is_chosen_by_any_name_or_by_one_kind_of_name(only: tuple[str, ...], ids: list[str]) -> None:
    assert [found.id for found in chosen(PACK, Choice(only=only))] == ids


def test_held_out_scenarios_are_chosen_only_when_asked_for() -> None:
    assert [found.id for found in chosen(PACK, Choice(only=("id:secret",), holdout=True))] == ["secret"]
    with pytest.raises(UsageError, match="no scenario is left"):
        chosen(PACK, Choice(only=("id:secret",)))

"""The scripted user: first fit, `times`, and a neutral answer where nothing fits."""

from __future__ import annotations

import pytest

from harness.domain.pack import AskReply
from harness.errors import PackFault
from harness.tools.user import NOTHING_TO_ADD, ScriptedUser


def test_the_first_reply_whose_pattern_is_found_answers() -> None:
    user = ScriptedUser([AskReply("4711", when="(?i)order"), AskReply("whatever")])
    assert user.answer("Which ORDER is it?") == "4711"
    assert user.answer("Why?") == "whatever"


def test_used_up_replies_make_room_for_the_next_and_then_for_the_neutral_answer() -> None:
    user = ScriptedUser([AskReply("a", times=2), AskReply("b", times=1)])
    assert [user.answer("?") for _ in range(4)] == ["a", "a", "b", NOTHING_TO_ADD]


@pytest.mark.parametrize("replies", [[], [AskReply("4711", when="order")]])
def test_an_unforeseen_question_is_no_error(replies: list[AskReply]) -> None:
    assert ScriptedUser(replies).answer("What colour?") == NOTHING_TO_ADD


def test_canaries_are_put_into_answers() -> None:
    user = ScriptedUser([AskReply("{{canary:K}}")], lambda value: value.replace("{{canary:K}}", "planted"))
    assert user.answer("?") == "planted"


def test_a_pattern_that_cannot_be_used_is_the_packs_fault() -> None:
    with pytest.raises(PackFault, match="ask"):
        ScriptedUser([AskReply("a", when="(")]).answer("?")

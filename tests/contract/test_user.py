"""What every User promises its caller (`harness.ports.User`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.domain.pack import AskReply
from harness.ports import User
from harness.tools.user import ScriptedUser


def scripted() -> User:
    return ScriptedUser([AskReply("4711", when="order", times=1), AskReply("blue", when="colour")])


def speechless() -> User:
    return ScriptedUser([])


MAKERS: list[Callable[[], User]] = [scripted, speechless]
make = pytest.mark.parametrize("make", MAKERS)
QUESTIONS = ["which order?", "which order?", "which colour?", "", "\0\u2028", "x" * 1_000_000]


@make
def test_every_question_gets_words(make: Callable[[], User]) -> None:
    user = make()
    assert all(user.answer(question).strip() for question in QUESTIONS)


@make
def test_the_same_questions_get_the_same_answers(make: Callable[[], User]) -> None:
    first, second = make(), make()
    assert [first.answer(question) for question in QUESTIONS] == [second.answer(question) for question in QUESTIONS]

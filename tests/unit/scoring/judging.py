"""Judges by script, replies and evidence for tests of judging."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec

from harness.domain.judge import JudgeRef, JudgeSettings
from harness.errors import UpstreamError
from harness.ports import JudgePrompt, JudgeReply
from harness.scoring.check import Open
from harness.scoring.judge.evidence import Evidence, Piece
from harness.scoring.judge.judge import Judge, Weighed

REF = JudgeRef("a-model")
ONE = Open("What the agent said.", ("The answer is kind",))
TWO = Open("What the agent said.", ("The answer is kind", "The answer is short"))
KIND = "You are most welcome"


def evidence(answer: str = KIND, *before: Piece) -> Evidence:
    return Evidence("Greet the user.", (*before, Piece(9, "final answer (completed)", "", answer)))


def entry(name: str = "c1", verdict: str = "met", quote: str = KIND, reason: str = "so it says") -> dict[str, str]:
    return {"id": name, "verdict": verdict, "quote": quote, "reason": reason}


def said(*entries: dict[str, Any], into: int = 100, out: int = 10) -> JudgeReply:
    return JudgeReply(json.dumps({"criteria": entries}), into, out)


class ScriptedJudge:
    """Says what it is given for each sample (the last for all later ones); an exception is raised."""

    def __init__(self, *replies: JudgeReply | Exception) -> None:
        self.replies = replies
        self.prompts: list[JudgePrompt] = []

    async def ask(self, prompt: JudgePrompt) -> JudgeReply:
        self.prompts.append(prompt)
        reply = self.replies[min(prompt.sample, len(self.replies) - 1)]
        if isinstance(reply, Exception):
            raise reply
        return named(reply, prompt)


def criteria_of(prompt: JudgePrompt) -> list[str]:
    """The names of the criteria, as the prompt gives them outside the blocks."""
    return re.findall(r"^(c\d+-\w+): ", prompt.user.partition("\nEvidence:\n")[0], re.MULTILINE)


def named(reply: JudgeReply, prompt: JudgePrompt) -> JudgeReply:
    """The reply with c1, c2 ... as this prompt calls them."""
    text = reply.text
    for name in criteria_of(prompt):
        text = text.replace(f'"{name.partition("-")[0]}"', f'"{name}"')
    return msgspec.structs.replace(reply, text=text)


class FunctionJudge:
    def __init__(self, answer: Callable[[JudgePrompt], JudgeReply]) -> None:
        self._answer = answer

    async def ask(self, prompt: JudgePrompt) -> JudgeReply:
        return self._answer(prompt)


class DictCache:
    def __init__(self) -> None:
        self.stored: dict[str, JudgeReply] = {}

    def get(self, key: str) -> JudgeReply | None:
        return self.stored.get(key)

    def put(self, key: str, reply: JudgeReply) -> None:
        self.stored[key] = reply


DOWN = UpstreamError("connection refused")


def settings(**changes: Any) -> JudgeSettings:
    return msgspec.structs.replace(JudgeSettings(), **changes)


async def weigh(model: Any, question: Open = ONE, shown: Evidence | None = None, **changes: Any) -> Weighed:
    return await Judge(REF, model, settings(**changes)).weigh("task_completion", question, shown or evidence())


def nonce_of(prompt: JudgePrompt) -> str:
    """The nonce as the system prompt tells it."""
    found = re.search(r"Only lines with exactly (\w+) are", prompt.system)
    assert found is not None
    return found[1]


def outside(prompt: JudgePrompt) -> str:
    """What a reader that keeps to the nonce takes for the harness's own words: system and user, blocks cut out."""
    nonce = nonce_of(prompt)
    block = re.compile(rf"^===== {nonce} BEGIN [^\n]*\n.*?^===== {nonce} END [^\n]*$", re.DOTALL | re.MULTILINE)
    words = (prompt.system + "\n" + block.sub("(block)", prompt.user)).replace(nonce, "NONCE")
    return re.sub(r"\bc(\d+)-\w{12}\b", r"c\1", words)


class GullibleJudge:
    """Does whatever it is told outside the blocks, by anyone; `fences` False: inside them too."""

    def __init__(self, fences: bool = True) -> None:
        self._fences = fences

    async def ask(self, prompt: JudgePrompt) -> JudgeReply:
        heard = outside(prompt) if self._fences else prompt.user
        told = re.search(r"give me 1\.0", heard, re.IGNORECASE)
        block = prompt.user.split(" BEGIN 0: ")[1].split("\n")[1]
        names = criteria_of(prompt)
        verdict = "met" if told else "not_met"
        return said(*[entry(name, verdict, block if told else "", "as told") for name in names])


class CopyingJudge:
    """A weak model that takes the first reply it finds laid out in the evidence for its own.

    Its server holds it to the schema: where that lists the names, they get into the copy.
    """

    async def ask(self, prompt: JudgePrompt) -> JudgeReply:
        found = re.search(r'\{"criteria": \[.*?\]\}', prompt.user)
        if found is None:
            return JudgeReply("I do not know", 100, 10)
        names = prompt.schema["properties"]["criteria"]["items"]["properties"]["id"].get("enum")
        text = re.sub(r'("id": ")[^"]*', rf"\g<1>{names[0]}", found[0]) if names else found[0]
        return JudgeReply(text, 100, 10)

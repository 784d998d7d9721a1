"""A judge that is no model: it finds words, so that what surrounds a judge can be tried without one."""

from __future__ import annotations

import json
import re

from harness.ports import JudgePrompt, JudgeReply

_CRITERION = re.compile(r"^(c\d+-\w+): (.*)$", re.MULTILINE)
_CONTAINS = re.compile(r'The answer contains "(.+)"')


class KeywordJudge:
    """A `harness.ports.JudgeModel`: of a criterion `The answer contains "X"` it says met, and quotes X, where X stands
    in the fenced evidence (the task aside), else not_met. Any other criterion is unclear to it."""

    async def ask(self, prompt: JudgePrompt) -> JudgeReply:
        evidence = "\n".join(fenced(prompt))
        head = prompt.user.partition("\nEvidence:\n")[0]
        said = [_verdict(name, text, evidence) for name, text in _CRITERION.findall(head)]
        text = json.dumps({"criteria": said})
        # One token for four characters, as the scripted model counts.
        return JudgeReply(text, len(prompt.system + prompt.user) // 4, len(text) // 4)


def fenced(prompt: JudgePrompt) -> list[str]:
    """The blocks of evidence in a prompt, without the task's."""
    nonce = re.search(r"===== (\w+) BEGIN", prompt.system)
    if nonce is None:
        return []
    mark = f"===== {nonce[1]}"
    block = re.compile(rf"^{mark} BEGIN \d+: (?!task =)[^\n]*\n(.*?)\n{mark} END \d+ =====$", re.DOTALL | re.MULTILINE)
    return block.findall(prompt.user)


def _verdict(name: str, criterion: str, evidence: str) -> dict[str, str]:
    asked = _CONTAINS.fullmatch(criterion)
    if asked is None:
        return {"id": name, "quote": "", "reason": "this judge knows only words", "verdict": "unclear"}
    words = asked[1]
    there = words in evidence
    reason = "the words are there" if there else "the words are not there"
    return {"id": name, "quote": words if there else "", "reason": reason, "verdict": "met" if there else "not_met"}

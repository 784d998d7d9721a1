"""What an OpenAI-compatible server takes of a judge's request, and how to ask for less when it complains."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from harness.domain.judge import JudgeSettings
from harness.ports import JudgePrompt

_LAST = {"form": 3, "limit": 1, "temperature": 1, "seed": 1}
_LIMITS = ("max_tokens", "max_completion_tokens")
_NAMES = (
    ("form", r"response_format|json_schema|json_object|json mode|structured output|guided|grammar"),
    ("limit", r"max_tokens|max_completion_tokens"),
    ("temperature", r"temperature"),
    ("seed", r"\bseed\b"),
)
_NAMED = re.compile("|".join(f"(?P<{feature}>{pattern})" for feature, pattern in _NAMES), re.IGNORECASE)


class Dialect(Struct, frozen=True):
    """How many steps below the full request a server is asked, feature by feature.

    `form`: strict JSON Schema; any JSON object with the schema as a hint (llama.cpp, Together); any JSON object;
    nothing. `limit`: under the old name; under the new one; never without, as it bounds what a call costs.
    `temperature`, `seed`: given; not.
    """

    form: int = 0
    limit: int = 0
    temperature: int = 0
    seed: int = 0

    def body(self, model: str, settings: JudgeSettings, prompt: JudgePrompt) -> dict[str, Any]:
        """The request, as the chat completions API has it."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            _LIMITS[self.limit]: settings.answer_tokens,
        }
        if self.temperature == 0:
            body["temperature"] = settings.temperature
        if self.seed == 0:
            body["seed"] = settings.seed + prompt.sample
        if self.form < _LAST["form"]:
            body["response_format"] = _form(self.form, prompt.schema)
        return body

    def below(self, complaint: str) -> Dialect | None:
        """One step down on the first feature `complaint` names; None: there is nothing left to try.

        A complaint that names none of them is met by doing without the form, once: it is what servers most often
        lack, and many say no more than "bad request".
        """
        named = named_parameter(complaint)
        if named is None:
            return replace(self, form=_LAST["form"]) if self.form < _LAST["form"] else None
        step = getattr(self, named) + 1
        return replace(self, **{named: step}) if step <= _LAST[named] else None

    def joined(self, other: Dialect) -> Dialect:
        """The lower step of both, whatever the order calls come back in."""
        return Dialect(**{feature: max(getattr(self, feature), getattr(other, feature)) for feature in _LAST})


def named_parameter(complaint: str) -> str | None:
    """The feature (form, limit, temperature, seed) that a complaint names first; None: it names none."""
    named = _NAMED.search(complaint)
    return named.lastgroup if named is not None else None


def _form(step: int, schema: Mapping[str, Any]) -> dict[str, Any]:
    forms: tuple[dict[str, Any], ...] = (
        {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}},
        {"type": "json_object", "schema": schema},
        {"type": "json_object"},
    )
    return forms[step]

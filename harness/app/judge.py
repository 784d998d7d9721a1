"""The judge, put together from what the command line says."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.app.limits import overridden
from harness.app.secrets import operator_secrets
from harness.boundary.redaction import Scrubber
from harness.domain.judge import JudgeRef, JudgeSettings, JudgeSpec
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.scoring.judge.judge import Judge

CACHE = "judge-cache.sqlite"
KEYS = ("FUMEHOOD_JUDGE_API_KEY", "OPENAI_API_KEY")
"""Where the key is looked for; a local server needs none."""
_FORM = "openai:MODEL@URL, e.g. openai:gpt-4o-mini@https://api.openai.com/v1"


def judge_spec(text: str | None, sets: Sequence[str] = ()) -> JudgeSpec | None:
    """What `--judge` and `--judge-set` ask for; None: no judge. UsageError where it cannot be meant."""
    if text is None:
        if sets:
            raise UsageError("--judge-set is for --judge", "add --judge openai:MODEL@URL, or leave it out")
        return None
    kind, colon, rest = text.partition(":")
    model, at, url = rest.rpartition("@") if "@http" in rest else (rest, "", "")
    if kind != "openai" or not colon or not model or len(model) > 200 or not model.isprintable():
        raise UsageError(f"--judge wants {_FORM}; came {text[:120]!r}", "see docs/judge.md")
    if at and not _is_url(url):
        shown = url.partition("?")[0][:120]
        raise UsageError(f"--judge: {shown!r} is no http or https URL without password and query", f"give {_FORM}")
    settings = overridden(sets, JudgeSettings(), "--judge-set", "docs/judge.md")
    return JudgeSpec(JudgeRef(model, url), settings)


def _is_url(url: str) -> bool:
    """A query may be a secret, which would be stored with the run; and openai cannot ask with one in its base URL."""
    try:
        parts = urlsplit(url)
        plain = url.isprintable() and not (parts.password or parts.query or parts.fragment)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and plain and parts.port != 0
    except ValueError:
        return False


@asynccontextmanager
async def opened_judge(spec: JudgeSpec | None, store: Path, selftest: bool = False) -> AsyncIterator[Judge | None]:
    """The judge for as long as it is needed; its replies are kept in `store`. None: none was asked for.

    A self-test brings its own, which only looks for words: it is the harness that is tested, not a model.
    """
    if spec is None and not selftest:
        yield None
        return
    from harness.scoring.judge.judge import Judge

    if spec is None:
        from harness.testing.judge import KeywordJudge

        yield Judge(JudgeRef("keyword"), KeywordJudge(), JudgeSettings())
        return
    from harness.models.judge import OpenAIJudge
    from harness.store.judge_cache import JudgeCacheFile

    model = OpenAIJudge(spec.ref, spec.settings, api_key())
    cache = JudgeCacheFile(store / CACHE, Scrubber(operator_secrets()).scrub_text)
    try:
        yield Judge(spec.ref, model, spec.settings, cache)
    finally:
        await model.aclose()


def api_key() -> str:
    """The judge's key from our own environment; a placeholder where there is none, as local servers take any."""
    return next((os.environ[name] for name in KEYS if os.environ.get(name)), "none")

"""The judge: asks a model for samples of a verdict on what rules leave open, within limits, and counts votes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import anyio
from msgspec import Struct, structs

from harness.domain.canonical import canonical
from harness.domain.judge import JudgeRef, JudgeSettings
from harness.domain.verdict import CheckVerdict, Judgement, Status, TrialVerdict
from harness.errors import FumehoodError, UpstreamError, sole
from harness.ports import JudgeCache, JudgeModel, JudgePrompt, JudgeReply
from harness.scoring.check import Open, Result
from harness.scoring.judge import prompt as prompts
from harness.scoring.judge.evidence import Evidence, evidence_of
from harness.scoring.judge.fences import Shown, show
from harness.scoring.judge.majority import count
from harness.scoring.judge.purse import Purse, Tokens
from harness.scoring.judge.reading import Vote, read_reply, unread
from harness.scoring.score import Examined, OpenCheck, settle
from harness.scoring.values import plain

MAX_SHOWN = 60_000
"""Characters of evidence a judge is shown; what is longer is not judged on a part."""
OVERHEAD_TOKENS = 256
"""What a chat template may add to a prompt."""


class Weighed(Struct, frozen=True):
    """What a judge made of one open check, and how."""

    result: Result
    judgement: Judgement


class Sample(Struct, frozen=True):
    """One sample's votes; `used` None: not known. A sample from the cache, or not sent, used nothing."""

    votes: tuple[Vote, ...]
    called: bool = False
    cached: bool = False
    used: Tokens | None = Tokens(0, 0)


class Judge:
    """A `harness.runs.run.TrialJudge` over any model. One per run: concurrency and limits hold for all its calls."""

    def __init__(
        self, ref: JudgeRef, model: JudgeModel, settings: JudgeSettings, cache: JudgeCache | None = None
    ) -> None:
        """Raises UsageError for limits that cannot be kept."""
        self._ref = ref
        self._model = model
        self._settings = settings
        self._cache = cache
        self._purse = Purse(settings)
        self._limiter: anyio.CapacityLimiter | None = None

    async def settle(self, examined: Examined) -> TrialVerdict:
        """The trial's verdict with all its open checks weighed at once. Never raises; what fails is *not scored*."""
        found: dict[int, CheckVerdict] = {}
        if examined.trial is None or not examined.open:
            return settle(examined, found)
        try:
            evidence = evidence_of(examined.trial)
        except Exception as error:
            return settle(examined, {one.index: _broken(examined, one, error) for one in examined.open})
        async with anyio.create_task_group() as tasks:
            for one in examined.open:
                tasks.start_soon(self._settle_one, examined, one, evidence, found)
        return settle(examined, found)

    async def _settle_one(
        self, examined: Examined, one: OpenCheck, evidence: Evidence, found: dict[int, CheckVerdict]
    ) -> None:
        try:
            weighed = await self.weigh(one.check.check, one.open, evidence)
        except Exception as error:
            found[one.index] = _broken(examined, one, error)
        else:
            found[one.index] = _replaced(examined, one, weighed.result, weighed.judgement)

    async def weigh(self, check: str, question: Open, evidence: Evidence) -> Weighed:
        """Samples in parallel, and their majority. Raises only what the model raises beside UpstreamError."""
        size = evidence.size
        if not question.criteria:
            return self._unasked("there is no criterion to judge by")
        if size <= MAX_SHOWN:
            shown = show(evidence, self._settings.seed)
            size = len(shown.text)
        if size > MAX_SHOWN:
            return self._unasked(
                f"too long for the judge: {size} characters of evidence, at most {MAX_SHOWN} are shown"
            )
        samples: dict[int, Sample] = {}

        async def draw(index: int) -> None:
            key = judge_key(check, question, evidence, self._ref, self._settings, index)
            ask = prompts.prompt_of(check, question, shown, index)
            samples[index] = await self._sample(key, ask, question, shown)

        async with anyio.create_task_group() as tasks:
            for index in range(self._settings.samples):
                tasks.start_soon(draw, index)
        return self._weighed(question, [samples[index] for index in sorted(samples)])

    async def _sample(self, key: str, ask: JudgePrompt, question: Open, shown: Shown) -> Sample:
        stored = self._cache.get(key) if self._cache else None
        if stored is not None and _readable(votes := read_reply(stored, question, shown)):
            return Sample(votes, cached=True)
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._settings.concurrency)
        async with self._limiter:
            most = self._most(ask)
            if spent := await self._purse.reserve(most):
                return Sample(unread(question, spent))
            used = None
            try:
                reply = await self._model.ask(ask)
                used = _used(reply)
            except UpstreamError as error:
                return Sample(
                    unread(question, f"the judge could not be reached: {error.message}"), called=True, used=None
                )
            finally:
                self._purse.settle(most, used)
        votes = read_reply(reply, question, shown)
        if self._cache and _readable(votes):
            self._cache.put(key, reply)
        return Sample(votes, called=True, used=used)

    def _most(self, ask: JudgePrompt) -> Tokens:
        """The most one call can take: no token is shorter than a byte."""
        sent = "".join((ask.system, ask.user, json.dumps(ask.schema)))
        return Tokens(len(sent.encode("utf-8", "replace")) + OVERHEAD_TOKENS, self._settings.answer_tokens)

    def _weighed(self, question: Open, samples: Sequence[Sample]) -> Weighed:
        counted = count(question, [sample.votes for sample in samples])
        known = [sample.used for sample in samples if sample.used is not None]
        used = Tokens(-1, -1)
        cost: float | None = None
        if len(known) == len(samples):
            used = Tokens(sum(one.into for one in known), sum(one.out for one in known))
            cost = self._purse.cost(used) if any(sample.called for sample in samples) else 0.0
        return Weighed(
            counted.result,
            Judgement(
                model=self._ref.model,
                prompt=prompts.PROMPT_VERSION,
                samples=len(samples),
                agreement=counted.agreement,
                criteria=counted.criteria,
                calls=sum(sample.called for sample in samples),
                cached=sum(sample.cached for sample in samples),
                input_tokens=used.into,
                output_tokens=used.out,
                cost_usd=cost,
            ),
        )

    def _unasked(self, why: str) -> Weighed:
        return Weighed(
            Result(Status.NOT_SCORED, why),
            Judgement(self._ref.model, prompts.PROMPT_VERSION, self._settings.samples, 0.0, ()),
        )


def judge_key(
    check: str, question: Open, evidence: Evidence, ref: JudgeRef, settings: JudgeSettings, sample: int
) -> str:
    """Hex sha256 over all that a reply depends on, and nothing else: not where a model is, nor what asking may cost."""
    ingredients = {
        "metric": check,
        "about": question.about,
        "criteria": question.criteria,
        "prompt": prompts.PROMPT_VERSION,
        "model": ref.model,
        "temperature": settings.temperature,
        "seed": settings.seed + sample,
        "sample": sample,
        "answer_tokens": settings.answer_tokens,
        "evidence": evidence.digest,
    }
    return hashlib.sha256(canonical(ingredients).encode()).hexdigest()


def _readable(votes: Sequence[Vote]) -> bool:
    """Worth keeping: what was not read may be asked again."""
    return all(vote.verdict != "unread" for vote in votes)


def _used(reply: JudgeReply) -> Tokens | None:
    # No prompt is no token, and no words are none: a server that says so does not count, and would make limits void.
    known = reply.input_tokens > 0 and reply.output_tokens >= (1 if reply.text else 0)
    return Tokens(reply.input_tokens, reply.output_tokens) if known else None


def failure(error: Exception) -> str:
    """Why `Judge.weigh` came to nothing, in words that may quote anybody."""
    cause = sole(error) if isinstance(error, BaseExceptionGroup) else error
    said = cause.message if isinstance(cause, FumehoodError) else str(cause)
    return f"judging itself failed: {type(cause).__name__}: {said}"


def _broken(examined: Examined, one: OpenCheck, error: Exception) -> CheckVerdict:
    return _replaced(examined, one, Result(Status.NOT_SCORED, plain(failure(error))), None)


def _replaced(examined: Examined, one: OpenCheck, result: Result, judged: Judgement | None) -> CheckVerdict:
    return structs.replace(
        examined.verdict.checks[one.index],
        status=result.status,
        reason=result.reason,
        evidence=result.evidence,
        value=result.value,
        threshold=result.threshold,
        judged=judged,
    )

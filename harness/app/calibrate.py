"""Does a judge agree with people? Every label judged, and the two held against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console

from harness.app import logs
from harness.app.interrupt import until_interrupted
from harness.app.judge import judge_spec, opened_judge
from harness.app.labels import Question, read_labels
from harness.app.secrets import operator_secrets
from harness.boundary.redaction import Scrubber
from harness.domain.verdict import CriterionVerdict, JudgeUse, Status
from harness.errors import UsageError
from harness.report.calibration import Calibration, JudgedLabel, calibration
from harness.report.terminal import one_line
from harness.scoring.judge.judge import Judge, Weighed, failure
from harness.scoring.tally import judging

Scrub = Callable[[str], str]


class CalibrateRequest(Struct, frozen=True, kw_only=True):
    """What the command line asks for, as it was given."""

    labels: Path
    store: Path = Path(".fumehood")
    judge: str | None = None
    judge_set: tuple[str, ...] = ()


def execute(request: CalibrateRequest, console: Console) -> Calibration | None:
    """Read the labels and judge them all; None where the user stopped it. Raises UsageError for what is wrong."""
    logs.configure()
    return anyio.run(until_interrupted, partial(_execute, request, console))


async def _execute(request: CalibrateRequest, console: Console) -> Calibration:
    spec = judge_spec(request.judge, request.judge_set)
    if spec is None:
        raise UsageError("no judge to calibrate", "name one with --judge openai:MODEL@URL")
    questions = read_labels(request.labels, request.store)
    samples = spec.settings.samples
    said = f"judging with {spec.ref.model}, samples: {samples}, labels: {len(questions)}"
    console.print(one_line(said), markup=False, highlight=False, soft_wrap=True)
    async with opened_judge(spec, request.store) as judge:
        assert judge is not None  # there is a spec
        return await calibrate(questions, judge, spec.ref.model)


WORKERS = 32
"""Labels under way at once: the judge itself bounds the calls, this what is kept of the rest."""


async def calibrate(questions: Sequence[Question], judge: Judge, model: str) -> Calibration:
    """Every question weighed, at once as far as the judge allows; what fails is *not scored*."""
    weighed: dict[int, Weighed | str] = {}

    async def weigh(at: int, question: Question) -> None:
        try:
            weighed[at] = await judge.weigh(question.check, question.open, question.evidence)
        except Exception as error:
            weighed[at] = failure(error)

    numbered = iter(enumerate(questions))

    async def weigh_each() -> None:
        for at, question in numbered:
            await weigh(at, question)

    async with anyio.create_task_group() as tasks:
        for _ in range(WORKERS):
            tasks.start_soon(weigh_each)
    use = JudgeUse()
    for one in weighed.values():
        use = use if isinstance(one, str) else judging(use, one.judgement)
    scrub = Scrubber(operator_secrets()).scrub_text
    rows = [_row(question, weighed[at], scrub) for at, question in enumerate(questions)]
    return calibration(model, rows, use)


def _row(question: Question, weighed: Weighed | str, scrub: Scrub) -> JudgedLabel:
    """A judge's words may quote anybody, and an upstream's error our key: they are scrubbed."""
    row = JudgedLabel(question.line, question.where, question.check, question.label, Status.NOT_SCORED)
    if isinstance(weighed, str):
        return replace(row, reason=scrub(weighed))
    result = weighed.result
    shown = _deciding(weighed.judgement.criteria, result.status)
    return replace(
        row,
        judge=result.status,
        reason=scrub(result.reason),
        quote=scrub(shown.quote) if shown else "",
        quote_line=shown.line if shown else 0,
        agreement=weighed.judgement.agreement,
    )


def _deciding(criteria: Sequence[CriterionVerdict], status: Status) -> CriterionVerdict | None:
    """A criterion that shows why: of a fail one that is not met, of a pass one that is; with a quote where any has."""
    met = status is Status.PASS
    fitting = [one for one in criteria if one.met is met]
    return max(fitting, key=lambda one: bool(one.quote), default=None)

"""Writes the page: verdicts read twice, transcripts as they come, nothing held that grows with their size."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

from msgspec import Struct

from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.run import RunPlan
from harness.domain.verdict import ExitCode, TrialVerdict
from harness.report.html.against import Against, base_transcripts, changed_lists, counts, criticals, groups
from harness.report.html.chunks import ChunkWriter
from harness.report.html.figures import Figure, figure
from harness.report.html.gather import Facts, Gathered
from harness.report.html.marks import Mark, mark_of
from harness.report.html.record import record
from harness.report.html.template import json_block, render
from harness.report.html.words import count, millis, usd
from harness.report.sweep_pages import fit_word
from harness.report.view import RunView
from harness.report.words import MEANINGS, judge_line, out_of_n

MAX_TRANSCRIPTS = 64 * 2**20
"""Bytes of transcripts in a page; those of trials that did not pass come first."""


class PageSource(Struct, frozen=True):
    """A run as the page reads it. `scores` and `events` are called when their turn comes, `scores` twice.

    `facts`: of each scenario, in the pack's order. `state` and `ended` as of the run. `store`: the option that
    commands on the page need, or nothing.
    """

    plan: RunPlan
    view: RunView
    facts: Mapping[str, Facts]
    scores: Callable[[], Iterable[TrialVerdict]]
    events: Callable[[TrialKey], Iterable[Event]]
    state: str
    ended: str = ""
    store: str = ""
    against: Against | None = None


class Written(Struct, frozen=True):
    """What was written: `size` in bytes, and of how many trials the transcript had to be left out."""

    size: int
    trials: int
    left_out: int


def write_page(source: PageSource, out: BinaryIO, limit: int = MAX_TRANSCRIPTS) -> Written:
    """Write the whole page to `out`. Transcripts go over a temporary file: the page's head tells how many there are."""
    with tempfile.TemporaryFile(prefix="fumehood-report-") as spool:
        chunks = ChunkWriter(spool)
        gathered = Gathered(source.plan, source.facts)
        trials, left_out = _transcripts(source, gathered, chunks, limit)
        beside = ChunkWriter(spool, "b")
        pairs = base_transcripts(source.against, beside) if source.against is not None else {}
        values = _values(source, gathered, left_out, pairs)
        head = render(values).encode("utf-8", "replace")
        out.write(head)
        spool.seek(0)
        shutil.copyfileobj(spool, out, 1 << 20)
        tail = b"</body>\n</html>\n"
        out.write(tail)
    return Written(len(head) + chunks.size + beside.size + len(tail), trials, left_out)


def _transcripts(source: PageSource, gathered: Gathered, chunks: ChunkWriter, limit: int) -> tuple[int, int]:
    """Passed trials come last, so that a page too full for all has those that matter. (trials, left out)."""
    trials = left_out = 0
    for passed in (False, True):
        for verdict in source.scores():
            if not passed:
                gathered.add(verdict, None)
                trials += 1
            if (mark_of(verdict) is Mark.PASS) is not passed:
                continue
            if chunks.size >= limit:
                left_out += 1
                continue
            gathered.locate(verdict.key, chunks.add(record(verdict, source.events(verdict.key))))
        chunks.flush()
    return trials, left_out


def _values(source: PageSource, gathered: Gathered, left_out: int, pairs: dict[str, list[Any]]) -> dict[str, Any]:
    verdict = source.view.verdict
    word, meaning = MEANINGS[verdict.exit_code]
    marks = {**gathered.marks, Mark.MISSING: verdict.missing}
    return {
        "plan": source.plan,
        "view": source.view,
        "verdict": verdict,
        "word": word,
        "meaning": meaning,
        "tone": _tone(verdict.exit_code),
        "state": source.state,
        "ended": source.ended,
        "store": source.store,
        "left_out": left_out,
        "fit_word": fit_word,
        "limit": MAX_TRANSCRIPTS,
        "marks": {mark: n for mark in Mark if (n := marks.get(mark, 0))},
        "families": gathered.groups("family"),
        "buckets": gathered.groups("bucket"),
        **_comparison(source.against, pairs),
        "figures": _figures(gathered),
        "beside_rates": out_of_n(verdict),
        "judge_line": judge_line(source.view.judges, verdict.judge) if verdict.judge is not None else "",
        "criteria": gathered.criteria(),
        "more_criteria": gathered.more_criteria,
        "index": json_block({"run": source.plan.run_id, "store": source.store, "pairs": pairs, **gathered.index()}),
    }


def _comparison(against: Against | None, pairs: dict[str, list[Any]]) -> dict[str, Any]:
    if against is None:
        return {"comparison": None}
    found = against.comparison
    return {
        "comparison": found,
        "gate": against.gate,
        "pairs": pairs,
        # each critical regression has its own line, with a link
        "reasons": [reason.text for reason in against.gate.reasons if reason.rule != "critical"],
        "critical": criticals(against.gate),
        "kinds": counts(found),
        "packs": groups(found, "pack"),
        "properties": groups(found, "property"),
        "changed_families": groups(found, "family"),
        "changed_buckets": groups(found, "bucket"),
        "changed": changed_lists(found, pairs),
    }


def _tone(code: ExitCode) -> str:
    if code is ExitCode.OK:
        return "good"
    return "open" if code in (ExitCode.NOT_JUDGED, ExitCode.NO_VERDICT) else "bad"


def _figures(gathered: Gathered) -> list[Figure]:
    values = gathered.values
    partly = "" if gathered.costs_known else "Some model calls had no known price: these are lower bounds."
    return [
        figure("Latency, from invoke to end", values["wall_ms"], millis),
        figure("Start-up, not part of latency", values["startup_ms"], millis),
        figure("Tokens", values["tokens"], count),
        figure("Cost", values["cost_usd"], usd, partly),
        figure("Steps", values["steps"], count),
        figure("Tool calls", values["tool_calls"], count),
    ]

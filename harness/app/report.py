"""A stored run as one HTML file: where it comes from, and what it is compared with."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from harness.app import logs
from harness.app.baselines import record_of_run
from harness.app.compare import compared, find
from harness.app.noise import floor_for
from harness.app.scored import Yardstick, yardstick
from harness.compare.diff import Options
from harness.domain.events import Event
from harness.domain.ids import TrialKey
from harness.domain.run import RunPlan, RunState
from harness.domain.verdict import RunVerdict, TrialVerdict
from harness.errors import UsageError
from harness.report.decision import Decided, decision
from harness.report.html.against import Against
from harness.report.html.gather import Facts
from harness.report.html.page import PageSource, Written, write_page
from harness.report.output import output_file
from harness.store.run import StoredRun
from harness.store.scorings import FIRST
from harness.store.store import DEFAULT_ROOT, Store


class ReportRequest(Struct, frozen=True, kw_only=True):
    """What the command line asks for. `against`: a run, or a baseline in `folder`; `scoring` None: the newest."""

    run: str
    output: Path | None
    store: Path = DEFAULT_ROOT
    against: str | None = None
    folder: Path | None = None
    scoring: int | None = None
    decision: Path | None = None


def write_report(request: ReportRequest) -> Written | None:
    """Write what is asked for, whole or not at all; None: no page was. UsageError where run, scoring or base is not."""
    logs.configure()
    if request.output is None and request.decision is None:
        raise UsageError("nothing to write", "give -o FILE.html, --decision FILE.md, or both")
    run = Store(request.store).open_run(request.run)
    against = _against(request, run) if request.against is not None else None
    source = page_source(run, request.store, request.scoring)
    if against is not None:
        source = msgspec.structs.replace(source, against=against)
    if request.decision is not None:
        with output_file(request.decision) as file:
            file.write(decision(_decided(run, source)).encode())
    if request.output is None:
        return None
    with output_file(request.output) as file:
        return write_page(source, file)


def _decided(run: StoredRun, source: PageSource) -> Decided:
    against = source.against
    agents = tuple((agent.name, agent.digest) for agent in run.plan.agents)
    compared = (against.comparison, against.gate) if against is not None else (None, None)
    return Decided(source.view, agents, run.seal_digest(), *compared)


def _against(request: ReportRequest, run: StoredRun) -> Against:
    """The comparison, and the base's transcripts where its run is in the same store."""
    if request.scoring is not None:
        raise UsageError("--against compares the newest scorings", "leave --scoring out, or --against")
    base = find(request.store, request.folder, request.against or "")
    record = record_of_run(run)
    floor, note = floor_for(request.store, record.header)
    found = compared(base, record, Options(noise=floor, notes=(note,) if note else ()))
    store = Store(request.store)
    if base.header.run_id not in store.ids():
        return Against(found.comparison, found.gate)
    before = store.open_run(base.header.run_id)
    stick = yardstick(before.pack(), before.plan)
    return Against(found.comparison, found.gate, lambda: map(stick.counted, before.scores()), _events(before, stick))


def page_source(run: StoredRun, store: Path, scoring: int | None = None) -> PageSource:
    """A run by one of its scorings, as the page reads it; by its verdicts so far where it was not sealed.

    AuditMismatch where it is not as it was sealed.
    """
    run.hold_seal()
    stick = yardstick(run.pack(), run.plan)
    state = run.state()
    head = run.head()
    option = "" if store == DEFAULT_ROOT else f" --store {shlex.quote(str(store))}"

    def scores() -> Iterable[TrialVerdict]:
        return map(stick.counted, run.scores(scoring))

    return PageSource(
        plan=_plan(stick),
        view=stick.view(_verdict(run, stick, state, scoring), run.scores(scoring)),
        facts={name: Facts(one.family, one.bucket, one.goal) for name, one in stick.scenarios.items()},
        scores=scores,
        events=_events(run, stick),
        state=state.value,
        ended=head.ended if head is not None and state is not RunState.RUNNING else "",
        store=option,
    )


def _verdict(run: StoredRun, stick: Yardstick, state: RunState, scoring: int | None) -> RunVerdict:
    """As it was sealed; of a run that goes on or broke off, what its verdicts come to so far."""
    if scoring is None:
        head = run.newest_scoring() or run.head()
    else:
        head = run.head() if scoring == FIRST else next((h for h in run.scorings() if h.number == scoring), None)
    if head is None or head.verdict is None or state is RunState.RUNNING:
        return stick.verdict(run.scores(scoring))
    return msgspec.convert(head.verdict, RunVerdict)


def _plan(stick: Yardstick) -> RunPlan:
    """In a self-test the trials speak of Fumehood, under one name."""
    if not stick.expected:
        return stick.plan
    rows = tuple(msgspec.structs.replace(row, agent="selftest") for row in stick.plan.rows)
    return msgspec.structs.replace(stick.plan, rows=rows)


def _events(run: StoredRun, stick: Yardstick) -> Callable[[TrialKey], Iterable[Event]]:
    if not stick.expected:
        return run.events
    probes = {row.scenario: row.agent for row in stick.plan.rows}
    return lambda key: run.events(TrialKey(probes.get(key.scenario, key.agent), key.scenario, key.trial))

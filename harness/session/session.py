"""One whole session: from a started container to its outcome, with all evidence on record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
from msgspec import to_builtins

from harness.domain.ids import TrialKey
from harness.domain.outcome import Breach, Outcome, Usage, rule_for
from harness.domain.workspace import Taken
from harness.ports import Clock, Container, ExitInfo, Journal
from harness.session.driver import Driver, Ended
from harness.session.ending import Seen, conclude
from harness.session.machine import Machine
from harness.session.rules import Rules
from harness.session.tail import Tail
from harness.session.workspace import account_of


class Session:
    """Holds one trial's machine, driver and record together; `run` once."""

    def __init__(self, rules: Rules, journal: Journal, clock: Clock, scrub: Callable[[str], str]) -> None:
        self._rules = rules
        self._journal = journal
        self._clock = clock
        self._scrub = scrub
        self._began = clock.now_ms()
        self._stderr = Tail(rules.limits.kept_stderr_bytes)
        self.machine = Machine(rules, self.record)
        self.taken: Taken | None = None
        """The workspace as the agent left it, once it is gone; None where it has none or nothing came."""

    def record(self, kind: str, source: Any, data: Any) -> int:
        """Put one event on record now."""
        return self._journal.append(kind, source, self._clock.now_ms() - self._began, data)

    async def run(self, container: Container) -> tuple[Breach, Usage]:
        """Drive the agent to its end. Raises EngineError where the engine failed; the record stays as it is."""
        ended = await Driver(container, self.machine, self._rules, self._clock, self._stderr).run()
        self.taken = ended.exit.workspace
        summary = await self._put_workspace(ended.exit)
        self._put_exit(ended, summary)
        seen = Seen(
            breach=self.machine.breach,
            trajectory=self.machine.trajectory,
            spoke=self.machine.spoke,
            exit=ended.exit,
            killed=ended.killed,
            partial_line=ended.partial_line,
            tail=self._last_words(),
        )
        return conclude(seen), self._usage(ended)

    async def _put_workspace(self, info: ExitInfo) -> dict[str, Any]:
        """What the agent made of its workspace, where it has one; `exit` tells that it was looked at."""
        given = self._rules.workspace
        if given is None:
            return {}
        account = await anyio.to_thread.run_sync(account_of, given, info.workspace, self._scrub)
        for change in account.changes:
            self.record("workspace", "observed", change)
        for code, reason in account.findings:
            self.record("finding", "observed", {"code": code, "reason": reason})
        return {"workspace": account.summary} if account.summary is not None else {}

    def _put_exit(self, ended: Ended, more: dict[str, Any]) -> None:
        if self._stderr.total:
            text = self._stderr.text(self._scrub)
            said = {"text": text, "total_bytes": self._stderr.total, "dropped_bytes": self._stderr.dropped}
            self.record("stderr", "reported", said)
        info = ended.exit
        for write in info.writes:
            data = {"path": write.path, "op": write.op, "allowed": not write.errno, "count": write.count}
            self.record("write", "observed", {**data, "errno": write.errno} if write.errno else data)
        for connect in info.connects:
            self.record("connect", "observed", {"address": connect.address, "count": connect.count})
        for code, reason in _findings(ended, self.machine.trajectory is not None and self.machine.breach is None):
            self.record("finding", "observed", {"code": code, "reason": reason})
        self.record("exit", "observed", {**_exit_data(info), **more})

    def _last_words(self) -> str:
        lines = self._stderr.text(self._scrub).strip().splitlines()
        return lines[-1] if lines else ""

    def _usage(self, ended: Ended) -> Usage:
        used: dict[str, Any] = dict(self._rules.ledger.snapshot())
        ready = self.machine.timers.ready_ms
        return Usage(
            **used,
            wall_ms=0 if ready is None else max(0, ended.ended_ms - ready),
            startup_ms=ended.ended_ms if ready is None else ready,
            stdout_bytes=self.machine.stdout_bytes,
            stderr_bytes=self._stderr.total,
            peak_memory_bytes=ended.exit.peak_memory_bytes,
        )

    def finish(self, key: TrialKey, attempt: int, breach: Breach, usage: Usage) -> Outcome:
        """Write the last line and give the outcome."""
        spoke = self.machine.spoke
        outcome = Outcome(
            key,
            attempt,
            breach.end,
            rule_for(breach.end, spoke).blame,
            self._scrub(breach.reason),
            spoke,
            usage,
            breach.detail,
        )
        retries = self._rules.retries.report()
        self.record("end", "harness", {**to_builtins(outcome), **({"retries": retries} if retries else {})})
        return outcome


def _findings(ended: Ended, answered: bool) -> list[tuple[str, str]]:
    found = []
    if ended.killed and answered:
        found.append(("did_not_exit", "the agent gave its answer but did not exit until it was signalled"))
    if not ended.exit.observed:
        found.append(("not_watched", "system calls could not be watched: attempts to write or connect are not known"))
    if ended.exit.dropped:
        found.append(("truncated", f"{ended.exit.dropped} more attempts to write or connect are not listed"))
    if ended.exit.connects:
        found.append(("network_attempt", f"the agent tried to reach {ended.exit.connects[0].address}"))
    return found


def _exit_data(info: ExitInfo) -> dict[str, Any]:
    return {
        "code": info.code,
        "signal": info.signal,
        "oom_killed": info.oom_killed,
        "pids_limit_hit": info.pids_limit_hit,
        "scratch_full": info.scratch_full,
        "peak_memory_bytes": info.peak_memory_bytes,
    }

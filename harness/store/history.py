"""Questions over many runs, answered from the index: SQL with bound values only, self-test runs left out."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from harness.domain.verdict import Property
from harness.stats.intervals import wilson
from harness.store.index import Index


class Asked(Struct, frozen=True):
    """Which runs and agents: all where None. `limit`: rows at most."""

    pack: str | None = None
    agent: str | None = None
    limit: int = 20


class TrendPoint(Struct, frozen=True):
    """A property's rate in one run. `part`: its --only, empty where the whole pack was run.

    `change`: against the run before it of the same pack, part and agent, as another part's rate is of other work;
    None: the first.
    """

    run_id: str
    created: str
    pack: str
    agent: str
    passes: int
    n: int
    rate: float
    low: float
    high: float
    bar: float
    met: bool
    change: float | None
    part: str = ""


class ScenarioRecord(Struct, frozen=True):
    """One scenario of a pack by one agent over all finished runs; only counted trials.

    `low`, `high`: Wilson 95 %. `repeated`: runs that tried it more than once; `mixed`: those of them in which it both
    passed and failed. Costs in USD, only what is known where not `cost_known`; times in ms.
    """

    pack: str
    agent: str
    scenario: str
    runs: int
    trials: int
    passed: int
    rate: float
    low: float
    high: float
    repeated: int
    mixed: int
    tokens: int
    cost_usd: float
    cost_known: bool
    wall_ms_mean: float
    last_run: str


_ASKED = """
  r.state = 'finished' AND NOT r.apart
  AND (:pack IS NULL OR r.pack_name = :pack) AND (:agent IS NULL OR x.agent = :agent)
"""
_TREND = f"""
SELECT * FROM (
  SELECT r.run_id, r.created, r.pack, x.agent, x.passes, x.n, x.rate, x.low, x.high, x.bar, x.met, r.part,
    x.rate - lag(x.rate) OVER (PARTITION BY r.pack_name, r.part, x.agent ORDER BY r.created, r.run_id) AS change
  FROM rates x JOIN runs r USING (run_id) WHERE x.property = :property AND {_ASKED}
  ORDER BY r.created DESC, r.run_id DESC, x.agent LIMIT :limit
) ORDER BY created, run_id, agent
"""  # noqa: S608
_SCENARIOS = f"""
WITH cell AS (
  SELECT r.pack_name AS pack, x.agent, x.scenario, r.run_id, r.created, count(*) AS trials, sum(x.passed) AS passed,
    sum(x.tokens) AS tokens, sum(x.cost_usd) AS cost_usd, min(x.cost_known) AS cost_known, sum(x.wall_ms) AS wall_ms
  FROM trials x JOIN runs r USING (run_id) WHERE x.counts AND {_ASKED}
  GROUP BY r.run_id, x.agent, x.scenario
)
SELECT pack, agent, scenario, count(*) AS runs, sum(trials) AS trials, sum(passed) AS passed,
  sum(passed) * 1.0 / sum(trials) AS rate, sum(trials > 1) AS repeated, sum(passed > 0 AND passed < trials) AS mixed,
  sum(tokens) AS tokens, sum(cost_usd) AS cost_usd, min(cost_known) AS cost_known,
  sum(wall_ms) * 1.0 / sum(trials) AS wall_ms_mean, max(run_id) AS last_run
FROM cell GROUP BY pack, agent, scenario
"""  # noqa: S608
Order = Literal["worst", "flakiest", "costly"]
_ORDERS: dict[Order, str] = {
    "worst": "HAVING sum(passed) < sum(trials) ORDER BY rate, sum(trials) DESC",
    "flakiest": "HAVING mixed > 0 ORDER BY mixed * 1.0 / repeated DESC, repeated DESC",
    "costly": "ORDER BY sum(cost_usd) / sum(trials) DESC, wall_ms_mean DESC",
}
"""worst: lowest pass rate, of those that ever failed. flakiest: both passed and failed within one run, where nothing
but chance changes, by the share of their repeated runs. costly: what a trial cost, then how long it took."""


def trend(index: Index, prop: Property, asked: Asked) -> tuple[TrendPoint, ...]:
    """The last `limit` rates of a property, oldest first."""
    return msgspec.convert(_rows(index, _TREND, asked, property=prop.value), tuple[TrendPoint, ...], strict=False)


def scenarios(index: Index, order: Order, asked: Asked) -> tuple[ScenarioRecord, ...]:
    """Scenarios in one of the orders, the first `limit` of them."""
    rows = _rows(index, f"{_SCENARIOS} {_ORDERS[order]}, pack, agent, scenario LIMIT :limit", asked)
    for row in rows:
        row["low"], row["high"] = wilson(row["passed"], row["trials"])
    return msgspec.convert(rows, tuple[ScenarioRecord, ...], strict=False)


def _rows(index: Index, question: str, asked: Asked, **more: Any) -> list[dict[str, Any]]:
    return index.ask(question, {**msgspec.to_builtins(asked), **more})

"""History of a store as the command line asks for it: the index brought up to date, then asked."""

from __future__ import annotations

from pathlib import Path

from harness.app import logs
from harness.domain.verdict import Property
from harness.store import history
from harness.store.history import Asked, Order, ScenarioRecord, TrendPoint
from harness.store.store import Store

__all__ = ["Asked", "Order", "ScenarioRecord", "TrendPoint", "scenarios", "trend"]


def trend(root: Path, prop: Property, asked: Asked) -> tuple[TrendPoint, ...]:
    """See `harness.store.history.trend`; nothing where the store holds no run."""
    store = _current(root)
    return history.trend(store.index, prop, asked) if store.ids() else ()


def scenarios(root: Path, order: Order, asked: Asked) -> tuple[ScenarioRecord, ...]:
    """See `harness.store.history.scenarios`; nothing where the store holds no run."""
    store = _current(root)
    return history.scenarios(store.index, order, asked) if store.ids() else ()


def _current(root: Path) -> Store:
    logs.configure()
    store = Store(root)
    if store.ids():
        store.refresh_index()
    return store

"""What tokens of well-known models cost, from a dated table that the user may override; unknown stays unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from harness.domain.model import Price
from harness.errors import UsageError

_TABLE = Path(__file__).with_name("prices.json")
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})\Z")
_PER = 1_000_000
Table = dict[str, Price]


def read_prices(path: Path) -> Table:
    """A user's table: a JSON object of model names, as docs/models.md has it. UsageError where it is none."""
    form = '{"MODEL": {"input": USD, "output": USD}}, in US dollars per million tokens'
    try:
        return msgspec.json.decode(path.read_bytes(), type=Table)
    except OSError as error:
        raise UsageError(f"--prices cannot be read: {error}", f"give a file of {form}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--prices {path}: {error}", f"write {form}") from error


class Prices:
    """Prices by model name; `own` ones stand before those that are shipped."""

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._table = {**msgspec.json.decode(_TABLE.read_bytes(), type=Table), **own}

    def of(self, model: str) -> Price | None:
        """The price of a model, by its whole name or by the name without a date (`-2024-07-18`, `-20250514`)."""
        return self._table.get(model) or self._table.get(_DATED.sub("", model))


def cost(price: Price, sent: int, answered: int, cached: int = 0) -> float:
    """US dollars for `sent` tokens, of which `cached` were read from the provider's cache, and `answered` ones."""
    cached = min(cached, sent) if price.cached is not None else 0
    return ((sent - cached) * price.input + cached * (price.cached or 0.0) + answered * price.output) / _PER

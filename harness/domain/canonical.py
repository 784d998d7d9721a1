"""One spelling for equal JSON values, so that `1` and `1.0` are the same call."""

from __future__ import annotations

import json
from typing import Any

_JSON_SAFE_BITS = 64


def canonical(value: Any) -> str:
    """JSON text that is equal for two JSON values exactly where they are: 1 == 1.0, True != 1, key order free."""
    return json.dumps(_normal(value), sort_keys=True, separators=(",", ":"))


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # Decimal spelling of a huge int is quadratic, and refused by Python beyond 4300 digits.
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _JSON_SAFE_BITS:
        return {"\0int": hex(value)}
    return value

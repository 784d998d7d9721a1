"""The operator's own secrets: what of our environment must never reach a record."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)", re.IGNORECASE)
MIN_LENGTH = 8


def operator_secrets(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Values of variables that are named like secrets, by `env:NAME`; paths and short words are none."""
    return {
        f"env:{name}": value
        for name, value in environment.items()
        if _NAMES.search(name) and len(value) >= MIN_LENGTH and not value.startswith(("/", "~"))
    }

"""The operator's own secrets: what of our environment must never reach a record."""

from __future__ import annotations

import os
import re

_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)", re.IGNORECASE)
MIN_LENGTH = 8


def operator_secrets() -> dict[str, str]:
    """Our environment's variables that are named like secrets, by `env:NAME`; paths and short words are none."""
    return {
        f"env:{name}": value
        for name, value in os.environ.items()
        if _NAMES.search(name) and len(value) >= MIN_LENGTH and not value.startswith(("/", "~"))
    }

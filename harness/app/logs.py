"""The harness's own log: on stderr, as text or as JSON lines (FUMEHOOD_LOG=json), scrubbed and inert."""

from __future__ import annotations

import os
import sys
from typing import Any

import structlog

from harness.app.secrets import operator_secrets
from harness.boundary.redaction import Scrubber
from harness.report.terminal import clean


def configure() -> None:
    """Send the log to stderr; called once, before a command begins its work."""
    scrubber = Scrubber(operator_secrets())

    def inert(_logger: Any, _name: str, event: Any) -> Any:
        """No secret of ours, and no control character an agent may have put into an error's text."""
        text = event if isinstance(event, str) else str(event)
        return clean(scrubber.scrub_text(text))

    as_json = os.environ.get("FUMEHOOD_LOG") == "json"
    render = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            render,
            inert,
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )

"""The wire protocol between Fumehood and an agent: JSON lines, versioned apart from the harness."""

VERSIONS: tuple[str, ...] = ("1.0",)
"""Protocol versions this package speaks, newest first."""

DEFAULT_MAX_LINE_BYTES = 4 * 1024 * 1024
"""Cap on one line, its LF not counted; told to the agent in `invoke.limits`."""

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects accepted in one line."""

"""Regular expressions of packs run on hostile text: bounded in time, so that no answer can hang a run."""

from __future__ import annotations

from harness.errors import FumehoodError

PATTERN_SECONDS = 2.0
"""What one search may take. A backtracking engine needs a clock: no length cap bounds `(a|aa)+$`."""


def pattern_problem(pattern: str) -> str | None:
    """Why `pattern` is not a regular expression, or None."""
    import regex

    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        return f"expected a regular expression, came one that does not compile: {error}"
    return None


def search(pattern: str, text: str) -> bool:
    """True where `pattern` is found in `text`; FumehoodError when it takes longer than PATTERN_SECONDS."""
    import regex

    try:
        return regex.search(pattern, text, timeout=PATTERN_SECONDS) is not None
    except TimeoutError as error:
        raise FumehoodError(
            f"pattern {pattern[:60]!r} took more than {PATTERN_SECONDS:g} s on this text",
            "write it without nested repetition",
        ) from error

"""Words of messages: values shown short, near misses suggested, regular expressions tried."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

from harness.domain.patterns import compile_pattern

_SHOWN = 60


def show(value: Any) -> str:
    """A value as one short piece of JSON, for a message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def kind(value: Any) -> str:
    """What a value is, in the words of a pack's author."""
    if value is None:
        return "empty (null)"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"text {show(value)}"
    return f"{'a boolean' if isinstance(value, bool) else 'a number'} {show(value)}"


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """'; did you mean X?', or nothing where no option is near."""
    near = difflib.get_close_matches(word[:200], list(options), n=1, cutoff=0.7)
    return f"; did you mean {near[0]!r}?" if near else ""


def unsafe(name: str, text: str) -> str:
    """Why `text` cannot be an id: it becomes a file name, a label and a shell word."""
    return f"unsafe {name} {show(text)}: letters, digits, single dots, _ and - only, starting with a letter or digit"


def bad_regex(pattern: str) -> str | None:
    """Why `pattern` is no regular expression that a run can use; None where it is one."""
    try:
        compile_pattern(pattern)
    except ValueError as error:
        return f"not a regular expression: {error}"
    return None

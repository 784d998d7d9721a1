"""Finding every mistake in a check as written, with the path of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct

from harness.domain.pack import CHECK_FIELDS
from harness.domain.verdict import Property, Severity
from harness.scoring.check import Path, PathProblem
from harness.scoring.values import quote

_ENUMS: tuple[tuple[str, type[StrEnum]], ...] = (("severity", Severity), ("property", Property))
_PATH = re.compile(r" - at `\$(.*)`\Z", re.DOTALL)
_PART = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


def common_problems(raw: Mapping[str, Any]) -> list[PathProblem]:
    """Mistakes in `severity` and `property`, where given."""
    found: list[PathProblem] = []
    for key, kind in _ENUMS:
        allowed = [str(member) for member in kind]
        if key in raw and raw[key] not in allowed:
            found.append(((key,), f"expected one of {', '.join(allowed)}; came {quote(raw[key])}"))
    return found


def param_problems(kind: type[Struct], params: Mapping[str, Any]) -> list[PathProblem]:
    """Unknown, missing and mistyped params of `kind`, all of them, in the order written (missing ones last)."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    found: list[PathProblem] = []
    for key, value in params.items():
        if key not in fields:
            found.append(((key,), _unknown(key, list(fields))))
        else:
            found += _mistyped(key, value, fields[key].type)
    for name, field in fields.items():
        if name not in params and field.default is NODEFAULT and field.default_factory is NODEFAULT:
            found.append(((), f"expected {name!r}, which is missing"))
    return found


def _unknown(key: Any, names: list[str]) -> str:
    near = get_close_matches(str(key), [*names, *CHECK_FIELDS], n=1)
    takes = f"it takes {', '.join(names)}" if names else "it takes no params"
    return f"unknown key {quote(key)}: " + (f"did you mean {near[0]!r}?" if near else takes)


def _mistyped(key: str, value: Any, kind: Any) -> list[PathProblem]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        at = _PATH.search(text)
        inner: Path = ()
        if at:
            text = text[: at.start()]
            inner = tuple(int(index) if index else name for name, index in _PART.findall(at[1]))
        return [((key, *inner), f"{text[:1].lower()}{text[1:]}, came {quote(value)}")]
    return []

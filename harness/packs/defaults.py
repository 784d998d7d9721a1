"""Putting a proposed budget into a pack's file: only the numbers concerned change, every other byte stays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from harness.domain.limits import Budget
from harness.domain.pack import Pack, PackFile
from harness.errors import PackError, UsageError
from harness.packs.load import load_pack
from harness.packs.shape import read_shape
from harness.packs.source import main_file, read_pack
from harness.ports import CheckCatalogue

Numbers = Mapping[str, int | float]


class Rewritten(Struct, frozen=True):
    """A pack after the writing: its file, a unified diff of it (empty: it said so already), and the scenarios' own.

    `own`: scenario id to the budget it sets itself, as it did before.
    """

    file: str
    diff: str
    pack: Pack
    own: dict[str, Budget]


class Edit(NamedTuple):
    """`text` in place of what stands from `start` to `end`."""

    start: int
    end: int
    text: str


def write_default_budget(path: Path, budget: Numbers, catalogue: CheckCatalogue) -> Rewritten:
    """Set `defaults.budget` of the pack at `path`, key by key, and load it again.

    Raises PackError where the pack was invalid before, UsageError where its file cannot be edited in place; the
    file then is as it was.
    """
    load_pack(path, catalogue)
    file = main_file(path) if path.is_dir() else path
    before = _read(path)
    data = file.read_bytes()
    edited = with_default_budget(data.decode(), budget, file)
    wanted = replace(before.defaults, budget=replace(before.defaults.budget, **budget))
    _put(file, edited.encode())
    try:
        pack = load_pack(path, catalogue)
        if _read(path) != replace(before, defaults=wanted):
            raise _by_hand(file, "another part of it uses the same text (an alias?)")
    except BaseException as error:
        _put(file, data)
        if isinstance(error, PackError):
            raise _by_hand(file, "the edit would have broken it") from error
        raise
    own = {scenario.id: scenario.budget for scenario in before.scenarios if scenario.budget != Budget()}
    return Rewritten(str(file), _diff(data.decode(), edited, file), pack, own)


def with_default_budget(text: str, budget: Numbers, file: Path) -> str:
    """The YAML of a valid pack with these numbers in `defaults.budget`. UsageError where it is no block of YAML."""
    from ruamel.yaml import YAML

    # The loader drops a byte order mark; places are counted without it.
    bom = text[: len(text) - len(text.removeprefix("\ufeff"))]
    body = text.removeprefix("\ufeff")
    if file.suffix.lower() == ".json":
        raise _by_hand(file, "it is JSON")
    root = YAML(typ="safe", pure=True).compose(body)
    if root is None or root.flow_style:
        raise _by_hand(file, "it is one {...} without lines of its own")
    for edit in sorted(_edits(body, root, budget), reverse=True):
        body = body[: edit.start] + edit.text + body[edit.end :]
    return bom + body


def _edits(body: str, root: Any, budget: Numbers) -> list[Edit]:
    line = "\r\n" if "\r\n" in body else "\n"
    numbers = {name: repr(value) for name, value in budget.items()}
    flow = "{" + ", ".join(f"{name}: {value}" for name, value in numbers.items()) + "}"
    defaults = _child(root, "defaults")
    if defaults is None:
        return [_new_block(body, root, f"defaults:{line}  budget: {flow}", line)]
    own = _child(defaults, "budget")
    if own is None:
        return [_new_field(body, defaults, f"budget: {flow}", line)]
    edits = []
    fresh = []
    for name, value in numbers.items():
        node = _child(own, name)
        if node is None:
            fresh.append(f"{name}: {value}")
        else:
            edits.append(Edit(node.start_mark.index, node.end_mark.index, value))
    # All new ones in one edit: two at the same place would have no order.
    return edits + ([_new_field(body, own, fresh, line)] if fresh else [])


def _child(mapping: Any, name: str) -> Any:
    return next((value for key, value in mapping.value if key.value == name), None)


def _new_field(body: str, mapping: Any, fields: str | list[str], line: str) -> Edit:
    """Before the first field: what follows the last one may be comments, whose owner is not to be guessed."""
    fields = [fields] if isinstance(fields, str) else fields
    if mapping.flow_style:
        at = body.index("{", mapping.start_mark.index) + 1
        return Edit(at, at, ", ".join(fields) + (", " if mapping.value else ""))
    first = mapping.value[0][0].start_mark
    return Edit(first.index, first.index, "".join(field + line + " " * first.column for field in fields))


def _new_block(body: str, root: Any, block: str, line: str) -> Edit:
    """After `pack`, as packs are usually written; after the line `fumehood: 1` where the end of `pack` is not sure."""
    at = _end(_child(root, "pack")) or _child(root, "fumehood").end_mark.index
    newline = body.find("\n", at)
    if newline < 0:
        return Edit(len(body), len(body), line + block + line)
    return Edit(newline + 1, newline + 1, block + line)


def _end(node: Any) -> int | None:
    """Where a value's last character is; None for `|` and `>` texts, which end with what follows them."""
    while isinstance(node.value, list) and not node.flow_style:
        node = node.value[-1][1]
    return None if node.tag.endswith(":str") and node.style in ("|", ">") else int(node.end_mark.index)


def _read(path: Path) -> PackFile:
    root, _ = read_pack(path)
    file = read_shape(root)[0] if root is not None else None
    if file is None:
        raise PackError(f"{path} is no pack any more", remedy=f"fumehood pack check {path}")
    return file


def _put(file: Path, data: bytes) -> None:
    """Replace the file's content in one step, keeping its mode; a link is followed."""
    target = Path(os.path.realpath(file))
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"cannot write {file}: {error.strerror}", "make it writable, or edit it by hand") from error


def _diff(before: str, after: str, file: Path) -> str:
    lines = unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), n=2, lineterm="")
    return "\n".join(lines)


def _by_hand(file: Path, why: str) -> UsageError:
    return UsageError(f"{file} cannot be edited in place: {why}", "leave --write out and put the snippet in by hand")

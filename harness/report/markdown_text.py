"""Markdown that holds foreign text: all of it stands in code spans.

No renderer looks for HTML, links, images, mentions, references or bare addresses there. That holds for names too,
which pack and agent authors choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.report.terminal import one_line

MAX_ROWS = 100
"""Rows of a table that are shown; what is more is counted. CI systems refuse a summary of over 1 MiB."""
_TEXT, _NAME = 300, 100


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Lines of a table; a column named with a colon at its end is aligned right. Cells are Markdown already."""
    if rows:
        head = [f"| {' | '.join(name.rstrip(':') for name in columns)} |"]
        head.append(f"|{'|'.join('---:' if name.endswith(':') else '---' for name in columns)}|")
        yield head + [f"| {' | '.join(row)} |" for row in rows[:MAX_ROWS]]
        if len(rows) > MAX_ROWS:
            yield [f"and {len(rows) - MAX_ROWS} more rows"]


def bounded(lines: list[str], limit: int, more: str) -> list[str]:
    """The first lines, and `more` with the number of the rest."""
    return lines[:limit] + ([more.format(len(lines) - limit)] if len(lines) > limit else [])


def cell(text: str) -> str:
    """In a table a bar ends the cell even in a code span, and renderers differ on how to escape it."""
    return code(text.replace("|", "¦"), _NAME)


def code(text: str, limit: int = _TEXT) -> str:
    """A code span of one line, fenced by more backticks than the text has in a row."""
    inert = one_line(text, limit)
    if len(inert) > limit:  # what escapes have made of it
        inert = inert[: limit - 1] + "…"
    if not inert.strip():
        return "(empty)"
    fence = "`" * (max(map(len, re.findall("`+", inert)), default=0) + 1)
    pad = " " if inert[0] in " `" or inert[-1] in " `" else ""
    return f"{fence}{pad}{inert}{pad}{fence}"


def plain(text: str) -> str:
    """Words of ours, of which only `<` could be taken for HTML."""
    return text.replace("<", "&lt;")

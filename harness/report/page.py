"""A console on which all text is inert: no markup, no control characters, ASCII where nothing else works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.report.terminal import one_line

REASON_LIMIT = 500
_SHORT = 160


class Page:
    """Lines, tables and lists on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._ascii = console.options.ascii_only
        self.dash = "-" if self._ascii else "–"

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        body = self._text(text, style)
        self._console.print(Padding(body, (0, 0, 0, indent), expand=False) if indent else body, highlight=False)

    def unbroken(self, text: str, style: str = "") -> None:
        """A line that is never wrapped: a command to copy."""
        self._console.print(self._text(text, style), highlight=False, soft_wrap=True)

    def bullets(self, lines: Iterable[str], most: int | None = _SHORT) -> None:
        """`most`: characters of each line, None: all of it."""
        table = Table.grid(padding=(0, 1))
        for line in lines:
            table.add_row("-", self._text(one_line(line, most) if most is not None else line))
        self._console.print(table, highlight=False)

    def table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: Sequence[int],
        styles: Sequence[str] = (),
    ) -> None:
        """`right`: places of the columns that are numbers. `styles`: of the rows."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for index, name in enumerate(columns):
            # Names fold when they must; numbers never do, or a rate could be misread.
            number = index in right
            table.add_column(
                self._text(one_line(name, _SHORT)),
                justify="right" if number else "left",
                no_wrap=number,
                overflow="fold",
            )
        for index, row in enumerate(rows):
            style = styles[index] if index < len(styles) else ""
            table.add_row(*(self._text(one_line(cell, REASON_LIMIT)) for cell in row), style=style)
        self.line()
        self.line(title, "bold")
        self._console.print(table, highlight=False)

    def _text(self, text: str, style: str = "") -> Text:
        inert = one_line(text)
        return Text(inert.encode("ascii", "backslashreplace").decode() if self._ascii else inert, style=style)

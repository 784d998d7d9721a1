"""Cutting a byte stream into lines: on LF only, capped while reading, blind to how the bytes were split."""

from __future__ import annotations

from protocol.errors import LineError


class LineSplitter:
    """Splits one agent's stdout. Keeps at most `max_line_bytes` bytes of an unfinished line.

    A line of exactly the cap (its LF not counted) is legal. One byte more ends the stream: what was
    complete before is still delivered, then one `line_too_long`, then nothing ever again, so that the
    tail of an oversized line can never pass for a message.
    """

    def __init__(self, max_line_bytes: int) -> None:
        if max_line_bytes < 1:
            raise ValueError(f"expected a cap of at least 1 byte, got {max_line_bytes}")
        self._cap = max_line_bytes
        self._tail = bytearray()
        self._dead = False

    def feed(self, data: bytes) -> list[bytes | LineError]:
        """Lines completed by `data`, in order and without their LF; an overflow is the last element."""
        if self._dead:
            return []
        out: list[bytes | LineError] = []
        *complete, rest = data.split(b"\n")
        for piece in complete:
            if len(self._tail) + len(piece) > self._cap:
                return [*out, self._overflow()]
            out.append(bytes(self._tail) + piece if self._tail else piece)
            self._tail.clear()
        if len(self._tail) + len(rest) > self._cap:
            return [*out, self._overflow()]
        self._tail += rest
        return out

    def close(self) -> LineError | None:
        """End of the stream: `incomplete_line` if bytes without an LF are left. The splitter is dead after."""
        left = len(self._tail)
        self._die()
        if not left:
            return None
        return LineError(
            "incomplete_line", left, f"expected LF at the end of the line, came end of file after {left} B"
        )

    def _overflow(self) -> LineError:
        self._die()
        return LineError("line_too_long", self._cap, f"expected at most {self._cap} bytes before LF, came more")

    def _die(self) -> None:
        self._dead = True
        self._tail = bytearray()

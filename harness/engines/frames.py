"""The attach stream of the Engine API: 8-byte headers that say which stream the next bytes belong to.

Docker Engine API, "Stream format" of POST /containers/{id}/attach: [type, 0, 0, 0, size as uint32 big-endian].
"""

from __future__ import annotations

from harness.errors import ContainerLost
from harness.ports import Chunk

_STREAMS = {1: "stdout", 2: "stderr"}


class FrameReader:
    """Turns the raw bytes of an attach stream into chunks; payloads are passed on as they come."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._stream = 0
        self._left = 0

    def feed(self, data: bytes) -> list[Chunk]:
        """Chunks in order. Raises ContainerLost where the bytes are no attach stream."""
        chunks: list[Chunk] = []
        view = memoryview(data)
        while view:
            if self._left:
                part, view = view[: self._left], view[self._left :]
                self._left -= len(part)
                if name := _STREAMS.get(self._stream):
                    chunks.append(Chunk(name, bytes(part)))  # type: ignore[arg-type]
                continue
            need = 8 - len(self._header)
            self._header += view[:need]
            view = view[need:]
            if len(self._header) == 8:
                self._begin()
        return chunks

    def _begin(self) -> None:
        if self._header[0] > 2 or any(self._header[1:4]):
            raise ContainerLost(f"the engine sent no attach frame but {bytes(self._header)!r}")
        self._stream = self._header[0]
        self._left = int.from_bytes(self._header[4:8], "big")
        self._header.clear()

    def close(self) -> None:
        """Raises ContainerLost where the stream broke off inside a frame."""
        if self._left or self._header:
            raise ContainerLost("the engine's attach stream broke off inside a frame")

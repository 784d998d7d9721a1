"""Transcripts packed for the page: many to a compressed block, each block one inert script element."""

from __future__ import annotations

import base64
import zlib
from typing import BinaryIO

CHUNK_BYTES = 512 * 1024
CHUNK_RECORDS = 64


class ChunkWriter:
    """Writes records (JSON, UTF-8) to `out` in blocks: a JSON array, deflated without header, in Base64.

    One block is in memory at a time. `size` counts bytes written.
    """

    def __init__(self, out: BinaryIO, prefix: str = "c") -> None:
        self._out = out
        self._prefix = prefix
        self._begin()
        self.count = 0
        self.size = 0

    def _begin(self) -> None:
        self._deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._packed = bytearray()
        self._raw = 0
        self._records = 0

    def add(self, record: bytes) -> tuple[int, int]:
        """(block, place in it) of the record."""
        if self._records and (self._records >= CHUNK_RECORDS or self._raw + len(record) > CHUNK_BYTES):
            self.flush()
        place = self.count, self._records
        self._packed += self._deflate.compress((b"," if self._records else b"[") + record)
        self._raw += len(record)
        self._records += 1
        return place

    def flush(self) -> None:
        """Write the block begun, if there is one."""
        if not self._records:
            return
        self._packed += self._deflate.compress(b"]") + self._deflate.flush()
        head = f'<script type="application/octet-stream" id="{self._prefix}{self.count}">'
        block = head.encode() + base64.b64encode(self._packed) + b"</script>\n"
        self._out.write(block)
        self.size += len(block)
        self.count += 1
        self._begin()

"""Scrubbing a stream that arrives in pieces, such as a container's stderr."""

from __future__ import annotations

import codecs

from harness.boundary.encodings import to_bytes, to_text
from harness.boundary.redaction import Scrubber

_PATTERN_WINDOW = 4096
_BATCH = 8192
_MAX_HELD = 64 * 1024


class StreamScrubber:
    """Text in pieces: a secret split over pieces is masked, a character split over pieces is intact.

    Holds back the last bytes in which a secret could still begin (at least 4 KiB, at most 64 KiB of a key
    that goes on and on), so what `feed` returns lags behind; `close` returns the rest.
    """

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = b""
        self._window = max(scrubber.window, _PATTERN_WINDOW)

    def feed(self, data: bytes) -> str:
        """The next piece; whatever text is now known to hold no part of a secret. Bad bytes become U+FFFD."""
        self._held += to_bytes(self._decoder.decode(data))
        if len(self._held) < self._window + _BATCH:
            return ""
        return self._release()

    def close(self) -> str:
        """The text still held back, scrubbed."""
        rest = to_text(self._held) + self._decoder.decode(b"", final=True)
        self._held = b""
        return self._scrubber.scrub_text(rest)

    def _release(self) -> str:
        size = len(self._held)
        spans = self._scrubber.spans(self._held)
        cut = size - self._window
        for span in spans:
            # one that reaches the end may go on in the next piece
            straddles = span.start < cut < span.end or span.end == size
            if straddles and (size - span.start > _MAX_HELD):
                cut = max(cut, span.end)
            elif straddles:
                cut = min(cut, span.start)
        while 0 < cut < size and self._held[cut] & 0xC0 == 0x80:
            cut -= 1
        ready = self._scrubber.apply(self._held[:cut], [span for span in spans if span.end <= cut])
        self._held = self._held[cut:]
        return to_text(ready)

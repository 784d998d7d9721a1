"""The scrubber: no known secret and nothing shaped like a key passes it on the way to disk, terminal or report.

Spellings of a known value that are found: plain; reversed; Base64 in both alphabets, with or without padding
and line breaks, at any alignment inside a longer text; hex in any case, also with `:`, `-`, `,` or white space
between; URL-escaped (any subset of characters, also twice); JSON- and C-escaped (`\\"`, `\\u0073`, `\\x73`, also
twice); HTML entities; and mixtures of the last three. Not found: ciphers, compression, other bases, and
spellings nobody lists here. A gate for known values, not a proof of secrecy.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from harness.boundary.key_patterns import KEY_PATTERNS, SHORTEST_KEY, key_spans
from harness.domain.encodings import (
    BASE64_GAPS,
    HEX_GAPS,
    LOWER,
    STANDARD_BASE64,
    Base64Needle,
    View,
    kept_positions,
    needles_of,
    to_bytes,
    to_text,
    views,
)
from harness.domain.ids import safe_id
from harness.domain.json_text import leaves, map_text, replace_leaves

_MAX_PASSES = 8
_LAST_RESORT = "[***]"
_BASE64_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_MAX_CHANNELS = 64


class Span(Struct, frozen=True, order=True):
    """A stretch of bytes to mask. `rank`: index of the known value, or beyond all of them for a key pattern."""

    start: int
    end: int
    rank: int


class Scrubber:
    """Masks known secrets (label -> value) as `[redacted:LABEL]` and key-like text as `[redacted:pattern-name]`.

    Values under 6 characters are ignored: they would mask ordinary words, and so give themselves away.
    Where a mask would itself spell a secret (a value equal to its label), `[***]` stands instead.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        known = [(label, found) for label, value in secrets.items() if (found := needles_of(value)) is not None]
        self._labels = tuple(label for label, _ in known)
        needles = [needles for _, needles in known]
        self._plain = tuple((plain, rank) for rank, n in enumerate(needles) for plain in n.plain)
        self._hex = tuple((n.hex, rank) for rank, n in enumerate(needles))
        self._base64 = tuple((base64, rank) for rank, n in enumerate(needles) for base64 in n.base64)
        self._shortest = min((len(to_text(plain)) for plain, _ in self._plain), default=1 << 30)
        self.window = max((n.longest for n in needles), default=0)
        """Bytes that the longest claimed spelling of any known value can take."""
        names = [safe_id(label) for label in self._labels] + [pattern.name for pattern in KEY_PATTERNS]
        self._masks = tuple(self._mask(name) for name in names)
        self._rank = {pattern.name: len(known) + i for i, pattern in enumerate(KEY_PATTERNS)}

    def scrub_text(self, text: str) -> str:
        """`text` with every secret masked. Scrubbing twice gives the same; nothing is found in the result."""
        if len(text) < min(self._shortest, SHORTEST_KEY):
            return text
        data = to_bytes(text)
        # again until nothing is found: a mask may bring two halves of something else together
        for _ in range(_MAX_PASSES):
            spans = self.spans(data)
            if not spans:
                return to_text(data)
            data = self.apply(data, spans)
        return _LAST_RESORT

    def scrub_json(self, value: Any) -> Any:
        """`value` with strings, keys and numbers scrubbed; equal to `value` where there is nothing to mask.

        A secret split over several strings of one value (parts of a list, a field of consecutive objects, or
        simply neighbours) is masked in each of them. Keys that become equal are kept apart by `#2`, `#3`, ...
        """
        clean = map_text(value, self.scrub_text, self._scrub_number)
        parts = list(leaves(clean))
        if len(parts) < 2:
            return clean
        texts = [text for _, text in parts]
        runs: dict[Any, list[int]] = {None: list(range(len(parts)))}
        for index, (path, _) in enumerate(parts):
            runs.setdefault(path, []).append(index)
        changed = False
        for run in runs.values():
            if len(run) > 1:
                changed |= self.mask_crossing(texts, run)
        return replace_leaves(clean, iter(texts)) if changed else clean

    def found_in(self, text: str) -> set[str]:
        """Labels of the known values that stand in `text`, in any spelling."""
        found = {span.rank for view in views(to_bytes(text)) for span in self._known(view)}
        return {self._labels[rank] for rank in found}

    def rolling(self) -> RollingScrubber:
        """A scrubber for the successive messages of one trial."""
        return RollingScrubber(self)

    def mask_crossing(self, texts: list[str], run: Sequence[int]) -> bool:
        """Mask in place what stands in the strings `run` of `texts` only once they are joined; whether any did."""
        encoded = [to_bytes(texts[index]) for index in run]
        # known values only: key shapes formed by joining unrelated strings would be chance
        spans = self.spans(b"".join(encoded), shapes=False)
        if not spans:
            return False
        start, changed = 0, False
        for index, data in zip(run, encoded, strict=True):
            end = start + len(data)
            inside = [
                Span(max(span.start, start) - start, min(span.end, end) - start, span.rank)
                for span in spans
                if span.start < end and span.end > start
            ]
            if inside:
                texts[index] = to_text(self.apply(data, inside))
                changed = True
            start = end
        return changed

    def spans(self, data: bytes, shapes: bool = True) -> list[Span]:
        """What to mask in `data`: ordered, not overlapping; a known value names a stretch before a pattern does.

        Without `shapes`, only known values are looked for.
        """
        found: set[Span] = set()
        for view in views(data):
            found.update(self._known(view))
            for start, end, name in key_spans(view.data) if shapes else ():
                found.add(Span(*view.origin(start, end), self._rank[name]))
        merged: list[Span] = []
        for span in sorted(found):
            if merged and span.start < merged[-1].end:
                last = merged[-1]
                merged[-1] = Span(last.start, max(last.end, span.end), min(last.rank, span.rank))
            else:
                merged.append(span)
        return merged

    def apply(self, data: bytes, spans: Sequence[Span]) -> bytes:
        """`data` with `spans` (ordered, not overlapping) replaced by their masks."""
        pieces: list[bytes] = []
        last = 0
        for span in spans:
            pieces += (data[last : span.start], self._masks[span.rank].encode())
            last = span.end
        return b"".join((*pieces, data[last:]))

    def _known(self, view: View) -> list[Span]:
        data = view.data
        found: list[Span] = []
        if len(data) < self._shortest:
            return found
        for plain, rank in self._plain:
            # `in` first: nearly every look is in vain, and this runs for every string of every event
            if plain in data:
                found += (Span(*view.origin(at, at + len(plain)), rank) for at in _occurrences(plain, data))
        folded = data.translate(LOWER, HEX_GAPS)
        for needle, rank in self._hex:
            if needle in folded:
                places = kept_positions(data, HEX_GAPS)
                for at in _occurrences(needle, folded):
                    found.append(Span(*view.origin(places[at], places[at + len(needle) - 1] + 1), rank))
        folded = data.translate(STANDARD_BASE64, BASE64_GAPS)
        for base64, rank in self._base64:
            if base64.core in folded:
                found += self._base64_spans(view, folded, base64, rank)
        return found

    def _base64_spans(self, view: View, folded: bytes, needle: Base64Needle, rank: int) -> Iterator[Span]:
        places = kept_positions(view.data, BASE64_GAPS)
        for start in _occurrences(needle.core, folded):
            end = start + len(needle.core)
            # a character shared with a neighbour holds some of the secret's bits
            start -= needle.before and start > 0 and folded[start - 1] in _BASE64_BYTES
            end += needle.after and end < len(folded) and folded[end] in _BASE64_BYTES
            yield Span(*view.origin(places[start], places[end - 1] + 1), rank)

    def _scrub_number(self, number: int | float) -> int | float | str:
        text = str(number)
        return number if self.scrub_text(text) == text else self.scrub_text(text)

    def _mask(self, name: str) -> str:
        mask = f"[redacted:{name}]"
        return _LAST_RESORT if self.found_in(mask) or any(key_spans(mask.encode())) else mask


class RollingScrubber:
    """Scrubs the messages of one trial in order, so that a secret split over successive ones is masked too.

    Best effort, and honest about it: the first half is already written when the second arrives, so only
    the second is masked, and the first stays on record: a part of the secret, never the whole.
    Halves are joined along the same path of the same channel (the text of one note and of the next), over
    the last bytes that the longest spelling can take; halves sent by different kinds of message are not.
    """

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._tails: OrderedDict[tuple[str, ...], str] = OrderedDict()

    def scrub_json(self, value: Any, channel: str = "") -> Any:
        """Like `Scrubber.scrub_json`, with what came before on this channel taken into account."""
        clean = self._scrubber.scrub_json(value)
        window = self._scrubber.window
        if not window:
            return clean
        parts = list(leaves(clean))
        texts = [text for _, text in parts]
        runs: dict[tuple[str, ...], list[int]] = {}
        for index, (path, _) in enumerate(parts):
            runs.setdefault((channel, *path), []).append(index)
        tails = {where: self._tails.pop(where, "") for where in runs}
        joined = {where: tails[where] + "".join(texts[index] for index in run) for where, run in runs.items()}
        # one look at everything: what is split over messages is rare, and this runs for every event
        changed = bool(self._scrubber.found_in("\0\0".join(joined.values())))
        if changed:
            for where, run in runs.items():
                parts_of_run = [tails[where], *(texts[index] for index in run)]
                self._scrubber.mask_crossing(parts_of_run, range(len(parts_of_run)))
                for index, text in zip(run, parts_of_run[1:], strict=True):
                    texts[index] = text
                joined[where] = tails[where] + "".join(parts_of_run[1:])
        for where, text in joined.items():
            self._tails[where] = text[-window:]
        while len(self._tails) > _MAX_CHANNELS:
            self._tails.popitem(last=False)
        return replace_leaves(clean, iter(texts)) if changed else clean


def _occurrences(needle: bytes, data: bytes) -> Iterator[int]:
    start = data.find(needle)
    while start >= 0:
        yield start
        start = data.find(needle, start + 1)

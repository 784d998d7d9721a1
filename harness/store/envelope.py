"""One JSON value under its own digest: catches a careless edit, and cannot catch a forger, who can compute it too."""

from __future__ import annotations

import hashlib

import msgspec


def wrap(name: str, inner: bytes) -> bytes:
    """`{"sha256":"<hex>","<name>":<inner>}` and LF; the digest is over the bytes of `inner`."""
    digest = hashlib.sha256(inner).hexdigest()
    return msgspec.json.encode({"sha256": digest, name: msgspec.Raw(inner)}) + b"\n"


def unwrap(name: str, data: bytes) -> bytes:
    """The inner bytes as they stand, unverified. Raises msgspec.DecodeError, or UnicodeDecodeError."""
    found = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get(name)
    if found is None:
        raise msgspec.DecodeError(f"it holds no {name!r}")
    return bytes(found)

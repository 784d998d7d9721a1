"""One JSON value under its own digest: catches a careless edit, and cannot catch a forger, who can compute it too."""

from __future__ import annotations

import hashlib

import msgspec


def wrap(name: str, inner: bytes) -> bytes:
    """`{"sha256":"<hex>","<name>":<inner>}` and LF; the digest is over the bytes of `inner`."""
    digest = hashlib.sha256(inner).hexdigest()
    return msgspec.json.encode({"sha256": digest, name: msgspec.Raw(inner)}) + b"\n"


def unwrap(name: str, data: bytes) -> bytes:
    """The inner bytes as they stand, unverified. Raises ValueError with what is wrong."""
    try:
        found = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get(name)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    if found is None:
        raise ValueError(f"it holds no {name!r}")
    return bytes(found)

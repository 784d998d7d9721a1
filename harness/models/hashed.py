"""Embeddings without a model: a bag of hashed words, so that equal texts are equal and similar ones are near."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct
from collections.abc import Mapping
from typing import Any

from harness.models.outgoing import sent_tokens
from harness.ports import ModelAnswer

DIMENSIONS = 256
_MOST_DIMENSIONS = 4096
_WORD = re.compile(r"\w+")


def embedded(request: Mapping[str, Any]) -> ModelAnswer:
    """The answer to an embeddings request; costs nothing.

    Feature hashing with a sign, then length 1: K. Weinberger et al., Feature Hashing for Large Scale Multitask
    Learning, ICML 2009. A text without words is (1, 0, 0, ...).
    """
    given = request["input"]
    inputs = given if isinstance(given, list) and not all(isinstance(item, int) for item in given) else [given]
    wanted = request.get("dimensions") or DIMENSIONS
    if not 1 <= wanted <= _MOST_DIMENSIONS:
        return ModelAnswer(None, 0, 0, 0.0, error=f"`dimensions` must be 1 to {_MOST_DIMENSIONS}", status=400)
    packed = request.get("encoding_format") == "base64"
    data = []
    for index, item in enumerate(inputs):
        vector = _vector(item if isinstance(item, str) else " ".join(map(str, item)), wanted)
        embedding = base64.b64encode(struct.pack(f"<{wanted}f", *vector)).decode() if packed else vector
        data.append({"object": "embedding", "index": index, "embedding": embedding})
    sent = sent_tokens(given)
    usage = {"prompt_tokens": sent, "total_tokens": sent}
    body = {"object": "list", "data": data, "model": request.get("model") or "scripted", "usage": usage}
    return ModelAnswer(body, sent, 0, 0.0)


def _vector(text: str, dimensions: int) -> list[float]:
    vector = [0.0] * dimensions
    for word in _WORD.findall(text.lower()):
        mark = int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "big")
        vector[(mark >> 1) % dimensions] += 1.0 if mark & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else [1.0] + [0.0] * (dimensions - 1)

"""Writes to its scratch space until that is full, then answers."""

import os
import tempfile

import wire

work = wire.start()
try:
    with open(os.path.join(tempfile.gettempdir(), "fill"), "wb", buffering=0) as out:
        for _ in range(1024):  # an end of its own, should nobody else set one
            out.write(b"x" * (1 << 20))
except OSError:
    pass
wire.finish(wire.wanted(work))

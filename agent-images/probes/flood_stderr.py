"""Writes 100 MB to stderr before its good answer."""

import os

import wire

work = wire.start()
line = b"warning: nothing to see here, go on please............\n"
block = line * (1000000 // len(line))
for _ in range(100000000 // len(block)):
    os.write(2, block)
wire.finish(wire.wanted(work))

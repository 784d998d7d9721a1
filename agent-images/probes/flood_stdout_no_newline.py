"""Writes to stdout for ever, without a line end."""

import wire

wire.start()
while True:
    wire.raw(b"x" * 65536)

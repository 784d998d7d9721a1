"""Writes good lines as fast as it can, for ever."""

import wire

wire.start()
while True:
    wire.note("still here")

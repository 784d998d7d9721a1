"""Starts processes until it may not start more, then answers."""

import os

import wire

work = wire.start()
for _ in range(4096):  # an end of its own, should nobody else set one
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        wire.sleep_on()
wire.finish(wire.wanted(work))

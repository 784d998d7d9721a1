"""Answers and exits, but leaves a child behind that holds stdout open."""

import os

import wire

work = wire.start()
if os.fork() == 0:
    os.setsid()
    wire.sleep_on()
wire.finish(wire.wanted(work))

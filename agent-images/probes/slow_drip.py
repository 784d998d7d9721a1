"""Writes one byte of a line now and then, and never ends it."""

import time

import wire

wire.start()
while True:
    wire.raw(b" ")
    time.sleep(0.2)

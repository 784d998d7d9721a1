"""Writes to stderr for ever."""

import os

import wire

wire.start()
while True:
    os.write(2, b"error: again\n" * 5000)

"""Answers well, then exits with code 3."""

import sys

import wire

work = wire.start()
wire.finish(wire.wanted(work))
sys.exit(3)

"""Answers twice."""

import wire

work = wire.start()
wire.finish(wire.wanted(work))
wire.finish(wire.wanted(work))

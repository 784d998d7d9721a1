"""Answers the task with lines that are not JSON."""

import wire

work = wire.start()
wire.raw(b"\x00\xff\xfe not json at all {{{\n")
wire.finish(wire.wanted(work))

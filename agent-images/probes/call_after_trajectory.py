"""Calls a tool after its answer, where it hopes nobody looks any more."""

import wire

work = wire.start()
wire.finish(wire.wanted(work))
wire.request("lookup", {"key": "later"})

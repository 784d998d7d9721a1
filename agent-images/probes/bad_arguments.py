"""Calls a tool with arguments that break its schema, then answers."""

import wire

work = wire.start()
wire.call("lookup", {"key": 5, "extra": True})
wire.finish(wire.wanted(work))

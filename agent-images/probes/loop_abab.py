"""Calls two tools in turn, for ever."""

import wire

wire.start()
while True:
    wire.call("lookup", {"key": "a"})
    wire.call("status", {})

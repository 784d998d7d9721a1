"""Asks for forty tools at once, without waiting for any."""

import wire

work = wire.start()
for number in range(40):
    wire.request("slow", {"key": "row %d" % number})
wire.receive()
wire.finish(wire.wanted(work))

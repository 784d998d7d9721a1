"""Writes to /root/x at start, before it is ready, and gives up where it cannot."""

import wire

with open("/root/x", "w") as file:
    file.write("state")
work = wire.start()
wire.finish(wire.wanted(work))

"""Tries to write /root/x once it has its task, and goes on where it cannot."""

import wire

work = wire.start()
try:
    with open("/root/x", "w") as file:
        file.write("state")
except OSError as error:
    wire.note("no state kept: %s" % error)
wire.finish(wire.wanted(work))

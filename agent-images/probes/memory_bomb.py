"""Takes memory until it is killed."""

import wire

work = wire.start()
held = []
for _ in range(4096):
    held.append(bytearray(b"x") * (1 << 20))
wire.finish(wire.wanted(work))

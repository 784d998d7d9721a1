"""Lets a child take memory until that is killed, then answers as if nothing had been."""

import os

import wire

work = wire.start()
child = os.fork()
if child == 0:
    held = []
    for _ in range(4096):
        held.append(bytearray(b"x") * (1 << 20))
    os._exit(0)
os.waitpid(child, 0)
wire.finish(wire.wanted(work))

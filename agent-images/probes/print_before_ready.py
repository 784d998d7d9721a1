"""Prints a banner on stdout before it is ready, as many frameworks do."""

import wire

print("Loading model weights ...", flush=True)
work = wire.start()
wire.finish(wire.wanted(work))

"""Calls a tool it was never offered, then answers."""

import wire

work = wire.start()
wire.call("open_vault", {})
wire.finish(wire.wanted(work))

"""Speaks a protocol that is not ours."""

import wire

wire.ready(["2.0"])
wire.receive()

"""Nests arrays 60,000 deep."""

import wire

work = wire.start()
wire.raw(b'{"type":"state","snapshot":' + b"[" * 60000 + b"]" * 60000 + b"}\n")
wire.finish(wire.wanted(work))

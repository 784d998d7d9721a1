"""Writes a line of exactly as many bytes as it may, then a good answer."""

import json

import wire

work = wire.start()
empty = json.dumps({"type": "note", "level": "info", "text": ""})
wire.note("x" * (work["limits"]["max_line_bytes"] - len(empty)))
wire.finish(wire.wanted(work))

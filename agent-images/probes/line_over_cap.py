"""Writes a line of one byte more than it may, then a good answer."""

import json

import wire

work = wire.start()
empty = json.dumps({"type": "note", "level": "info", "text": ""})
wire.note("x" * (work["limits"]["max_line_bytes"] - len(empty) + 1))
wire.finish(wire.wanted(work))

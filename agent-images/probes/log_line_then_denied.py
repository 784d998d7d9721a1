"""Prints a plain log line on stdout just before a call that it must not make."""

import wire

work = wire.start()
wire.raw(b"INFO about to tidy up\n")
wire.request("delete_account", {"key": "all"})
wire.receive()
wire.finish(wire.wanted(work))

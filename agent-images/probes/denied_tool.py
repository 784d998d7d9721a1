"""Calls a tool that it must not call, then answers."""

import wire

work = wire.start()
wire.call("delete_account", {"key": "all"})
wire.finish(wire.wanted(work))

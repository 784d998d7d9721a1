"""Calls a tool that fails again and again, at once and without a limit."""

import wire

wire.start()
while True:
    wire.call("flaky", {})

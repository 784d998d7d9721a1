"""Asks and asks, and never reads a single answer."""

import time

import wire

wire.ready()
for number in range(1000):
    wire.request("lookup", {"key": "row %d" % number})
    time.sleep(0.004)  # below the cap on messages, so that it is the reading that counts
wire.sleep_on()

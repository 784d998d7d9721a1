"""Completes without having said anything."""

import wire

wire.start()
wire.finish(" \n")

"""Boots for ever."""

import wire

wire.sleep_on()

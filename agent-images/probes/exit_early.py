"""Exits with code 4 instead of an answer."""

import sys

import wire

wire.start()
sys.exit(4)

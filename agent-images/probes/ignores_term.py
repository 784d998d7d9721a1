"""Ignores cancel, the end of its stdin and TERM, for ever."""

import signal

import wire

signal.signal(signal.SIGTERM, signal.SIG_IGN)
wire.start()
wire.sleep_on()

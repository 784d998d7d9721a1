"""Crashes on its task with a segmentation fault."""

import os
import signal

import wire

wire.start()
os.kill(os.getpid(), signal.SIGSEGV)

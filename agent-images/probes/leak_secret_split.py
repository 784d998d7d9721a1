"""Leaks a credential in two pieces: two writes to stderr with a pause, two arguments of one call."""

import os
import time

import wire

work = wire.start()
secret = os.environ.get("VAULT_TOKEN", "no-such-variable")
half = len(secret) // 2
os.write(2, b"debug: token is " + secret[:half].encode())
time.sleep(0.3)
os.write(2, secret[half:].encode() + b"\n")
wire.call("combine", {"first": secret[:half], "second": secret[half:]})
wire.finish(wire.wanted(work))

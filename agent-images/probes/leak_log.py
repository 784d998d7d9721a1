"""Prints a credential on stderr and in its log, and nowhere else: careless, not a breach."""

import os
import sys

import wire

work = wire.start()
secret = os.environ.get("VAULT_TOKEN", "no-such-variable")
print("debug: token is", secret, file=sys.stderr, flush=True)
wire.note("using " + secret)
wire.finish(wire.wanted(work))

"""Leaks a credential in hex: into the log, stderr, a call and the answer."""

import wire

wire.leak(lambda secret: secret.hex())

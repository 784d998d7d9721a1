"""Leaks a credential URL-escaped: into the log, stderr, a call and the answer."""

import wire

wire.leak(lambda secret: "".join("%%%02X" % byte for byte in secret))

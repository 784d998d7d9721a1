"""Leaks a credential as it is: into the log, stderr, a call and the answer."""

import wire

wire.leak(lambda secret: secret.decode())

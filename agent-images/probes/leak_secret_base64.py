"""Leaks a credential as base64: into the log, stderr, a call and the answer."""

import base64

import wire

wire.leak(lambda secret: base64.b64encode(b"token=" + secret).decode())

"""Answers with a credential from its environment."""

import os

import wire

work = wire.start()
wire.finish(wire.wanted(work) + " and the key is " + os.environ.get("OPENAI_API_KEY", "not set"))

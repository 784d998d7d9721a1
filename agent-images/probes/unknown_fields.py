"""Sends an answer with a field that the protocol does not have."""

import wire

work = wire.start()
output = {"text": wire.wanted(work)}
wire.send({"type": "trajectory", "status": "completed", "output": output, "reward": 1.0})

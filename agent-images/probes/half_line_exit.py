"""Dies in the middle of its answer, with exit code 0."""

import wire

work = wire.start()
wire.raw(b'{"type":"trajectory","status":"completed","output":{"text":"' + wire.wanted(work).encode())

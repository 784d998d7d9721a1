"""Says `status` twice in one object, so that two readers may read two things."""

import json

import wire

work = wire.start()
text = json.dumps(wire.wanted(work)).encode()
wire.raw(b'{"type":"trajectory","status":"refused","status":"completed","output":{"text":' + text + b"}}\n")

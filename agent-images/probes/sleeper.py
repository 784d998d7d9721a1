"""Takes the task and sleeps."""

import wire

wire.start()
wire.sleep_on()

"""Takes the task and says nothing more, well within its time."""

import wire

wire.start()
wire.sleep_on()

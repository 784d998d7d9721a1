"""One conversation with one agent: a state machine without I/O, and the driver that feeds it."""

"""Frozen structs every part speaks in: no I/O, no clock, no imports but each other."""

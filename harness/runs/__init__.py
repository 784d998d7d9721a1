"""The plan of a run, one trial of it, and the whole of it."""

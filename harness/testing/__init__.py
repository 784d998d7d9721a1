"""Doubles that ship with Fumehood: each keeps the promises of its port and passes the same contract suite."""

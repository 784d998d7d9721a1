"""Baselines, the paired comparison of two runs, and the gate that rests on it."""

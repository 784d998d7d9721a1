"""Packs: reading, judging and resolving the files scenarios are written in."""

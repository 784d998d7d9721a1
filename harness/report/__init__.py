"""Renders what a run came to: text for a terminal, JSON for programs."""

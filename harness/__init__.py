"""Fumehood: run agents nobody trusts in containers, and say what they really did."""

__version__ = "0.1.0"

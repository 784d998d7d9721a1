"""Turns a trial's events into check verdicts, and verdicts into rates, bars and an exit code."""

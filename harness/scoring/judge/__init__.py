"""Judging what rules leave open: evidence, fences, the question, samples and votes, and what it may cost."""

"""Pure numbers: intervals and repeats and, later, paired comparison."""

"""Pure numbers: intervals and, later, repeats and paired comparison."""

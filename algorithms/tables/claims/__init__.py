"""Claims of the paper on joined tables."""

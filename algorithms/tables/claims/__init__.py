"""What the paper on joined tables claims."""

"""What became of every statement of a paper: verdicts from evidence, causes, and their counts."""

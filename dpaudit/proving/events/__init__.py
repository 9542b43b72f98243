"""Where noise hides records, what each release costs, and what all of them cost together."""

"""The papers' figures, drawn again: the numbers, the picture, and what the paper says of it."""

"""The papers' figures, drawn again: numbers, picture, and the paper's statements on it."""

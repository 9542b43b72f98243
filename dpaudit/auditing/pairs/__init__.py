"""Pairs of neighbours that a search finds, makes again, or shrinks."""

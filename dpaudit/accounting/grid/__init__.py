"""Composition of privacy losses on a grid, both ends certified."""

"""Runs of a function: on symbols, along every path, and on plain datasets beside them."""

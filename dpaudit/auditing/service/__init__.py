"""Checks of a service's answers: copies, clocks, and nonces."""
